// A program of somebody else on the mock: npm's serialport, with the frames of xbee-api.
const { SerialPort } = require("serialport");
const { XBeeAPI, constants } = require("xbee-api");

const api = new XBeeAPI({ api_mode: 1 });
const port = new SerialPort({ path: process.argv[2], baudRate: 9600 });
port.pipe(api.parser);
api.builder.pipe(port);
api.parser.on("data", (frame) => console.log(JSON.stringify(frame)));
port.on("open", () => {
  api.builder.write({ type: constants.FRAME_TYPE.AT_COMMAND, id: 1, command: "NI", commandParameter: [] });
  api.builder.write({
    type: constants.FRAME_TYPE.TX_REQUEST_64,
    id: 2,
    destination64: process.argv[3],
    data: Buffer.from(process.argv[4], "hex"),
  });
});
process.stdin.on("data", () => port.close()).on("end", () => process.exit());
