/* The test host: what libController does with a plug-in, by commands on standard input.
 *
 *   host PLUGIN CONTROLLER_LIBRARY
 *
 * It loads both as a Python controller does: libController with local symbols first, then the
 * plug-in lazily and globally. Each command prints what the plug-in sets, then its own result.
 *
 *   start ARGUMENT   -> start 0|1        target TAG X     the target position in simulation
 *   step MS          -> step             failed           -> failed 0|1
 *   stop, actuators, cleanup             period TAG MS    led TAG N
 *   motor SLOT TAG X                     by the slot's place in the table, 17 to 23; pid TAG P I D
 *   feedback SLOT TAG MS                 slot 15 or 16
 *   every                                each other slot that takes a tag, with zeros
 */
#define _POSIX_C_SOURCE 200809L
#include <dlfcn.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <webots/remote_control.h>

typedef void (*slot)();
typedef void (*set_number)(WbDeviceTag, double);
typedef void (*set_period)(WbDeviceTag, int);

static WbrInterface table;

static slot slot_at(int place) {
  slot found;
  memcpy(&found, (const char *)&table + (size_t)place * sizeof found, sizeof found);
  if (found == NULL) {
    printf("slot %d is not set\n", place);
    exit(1);
  }
  return found;
}

static void *symbol(void *library, const char *name) {
  void *found = dlsym(library, name);
  if (found == NULL) {
    printf("%s\n", dlerror());
    exit(1);
  }
  return found;
}

static void call_every(void) {
  static const int points[2];
  for (int place = 0; place < 42; place++)
    slot_at(place);
  for (int i = 0; i < 2; i++) { /* each says so once */
    table.wbr_custom_function(NULL);
    table.wbr_robot_battery_set_sampling_period(32);
    table.wbr_camera_set_fov(1, 0);
    table.wbr_camera_set_exposure(1, 0);
    table.wbr_camera_set_focal_distance(1, 0);
    table.wbr_pen_set_ink_color(1, 0, 0);
    table.wbr_pen_write(1, true);
    table.wbr_speaker_emit_sample(1, NULL, 0);
    table.wbr_display_set_color(1, 0);
    table.wbr_display_set_alpha(1, 0);
    table.wbr_display_set_opacity(1, 0);
    table.wbr_display_draw_pixel(1, 0, 0);
    table.wbr_display_draw_line(1, 0, 0, 0, 0);
    table.wbr_display_draw_rectangle(1, 0, 0, 0, 0);
    table.wbr_display_draw_oval(1, 0, 0, 0, 0);
    table.wbr_display_draw_polygon(1, points, points, 2);
    table.wbr_display_draw_text(1, "", 0, 0);
    table.wbr_display_fill_rectangle(1, 0, 0, 0, 0);
    table.wbr_display_fill_oval(1, 0, 0, 0, 0);
    table.wbr_display_fill_polygon(1, points, points, 2);
    table.wbr_display_image_new(1, 0, 0, 0, NULL, 0);
    table.wbr_display_image_copy(1, 0, 0, 0, 0, 0);
    table.wbr_display_image_delete(1, 0);
    table.wbr_display_image_paste(1, 0, 0, 0);
    table.wbr_display_image_save(1, 0);
  }
}

static void obey(char *line, double *targets) {
  int place, tag, number;
  double x, i, d;
  char *argument = strchr(line, ' ');
  argument = argument == NULL ? line + strlen(line) : argument + 1;
  if (strncmp(line, "start", 5) == 0)
    printf("start %d\n", table.mandatory.wbr_start(argument));
  else if (sscanf(line, "target %d %lf", &tag, &x) == 2)
    targets[tag - 1] = x;
  else if (sscanf(line, "step %d", &number) == 1)
    table.mandatory.wbr_robot_step(number), printf("step\n");
  else if (strcmp(line, "failed") == 0)
    printf("failed %d\n", table.mandatory.wbr_has_failed());
  else if (strcmp(line, "stop") == 0)
    table.mandatory.wbr_stop(), printf("stop\n");
  else if (strcmp(line, "actuators") == 0)
    table.mandatory.wbr_stop_actuators(), printf("actuators\n");
  else if (sscanf(line, "period %d %d", &tag, &number) == 2)
    table.wbr_set_sampling_period((WbDeviceTag)tag, number);
  else if (sscanf(line, "led %d %d", &tag, &number) == 2)
    table.wbr_led_set((WbDeviceTag)tag, number);
  else if (sscanf(line, "motor %d %d %lf", &place, &tag, &x) == 3)
    ((set_number)slot_at(place))((WbDeviceTag)tag, x);
  else if (sscanf(line, "pid %d %lf %lf %lf", &tag, &x, &i, &d) == 4)
    table.wbr_motor_set_control_pid((WbDeviceTag)tag, x, i, d);
  else if (sscanf(line, "feedback %d %d %d", &place, &tag, &number) == 3)
    ((set_period)slot_at(place))((WbDeviceTag)tag, number);
  else if (strcmp(line, "every") == 0)
    call_every(), printf("every\n");
  else
    printf("unknown command %s\n", line), exit(1);
}

int main(int count, char **arguments) {
  char line[512];
  setvbuf(stdout, NULL, _IOLBF, 0);
  if (count != 3)
    return 2;
  void *controller = dlopen(arguments[2], RTLD_NOW | RTLD_LOCAL);
  void *plugin = controller == NULL ? NULL : dlopen(arguments[1], RTLD_LAZY | RTLD_GLOBAL);
  if (plugin == NULL) {
    printf("%s\n", dlerror());
    return 1;
  }
  bool (*init)(WbrInterface *);
  void (*cleanup)(void);
  *(void **)&init = symbol(plugin, "wbr_init");
  *(void **)&cleanup = symbol(plugin, "wbr_cleanup");
  double *targets = symbol(controller, "target_position");
  if (!init(&table))
    return 1;
  printf("ready\n");
  while (fgets(line, sizeof line, stdin) != NULL) {
    line[strcspn(line, "\n")] = '\0';
    if (strcmp(line, "cleanup") == 0)
      break;
    obey(line, targets);
  }
  cleanup();
  dlclose(plugin);
  printf("end\n");
  return 0;
}
