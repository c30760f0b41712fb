// Answers each line "ping ..." with "pong ...". The LED is on while lines arrive.

const unsigned long BAUD_RATE = 115200;
const unsigned long SILENCE_MS = 2000;  // without a line for this long the LED goes off
const int LONGEST = 60;

char line[LONGEST + 1];
int length = 0;
bool tooLong = false;
bool commanded = false;
unsigned long lineMs = 0;

void answer() {
  line[length] = 0;
  commanded = true;
  lineMs = millis();
  if (strncmp(line, "ping", 4) == 0) {
    Serial.print("pong");
    Serial.print(line + 4);
    Serial.write('\n');
  }
}

void take(char letter) {
  if (letter == '\n') {
    if (!tooLong && length > 0) answer();
    length = 0;
    tooLong = false;
  } else if (length < LONGEST) {
    line[length++] = letter;
  } else {
    tooLong = true;  // dropped up to its end
  }
}

void setup() {
  pinMode(LED_BUILTIN, OUTPUT);
  Serial.begin(BAUD_RATE);
}

void loop() {
  while (Serial.available() > 0) take(Serial.read());
  if (commanded && millis() - lineMs > SILENCE_MS) commanded = false;
  digitalWrite(LED_BUILTIN, commanded ? HIGH : LOW);
}
