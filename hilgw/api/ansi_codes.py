"""Codes of terminals (ECMA-48), as Webots names them."""


class AnsiCodes:
    """`print(AnsiCodes.RED_FOREGROUND + "text" + AnsiCodes.RESET)`."""

    RESET, BOLD, UNDERLINE = "\x1b[0m", "\x1b[1m", "\x1b[4m"
    BLACK_BACKGROUND, RED_BACKGROUND, GREEN_BACKGROUND = "\x1b[40m", "\x1b[41m", "\x1b[42m"
    YELLOW_BACKGROUND, BLUE_BACKGROUND, MAGENTA_BACKGROUND = "\x1b[43m", "\x1b[44m", "\x1b[45m"
    CYAN_BACKGROUND, WHITE_BACKGROUND = "\x1b[46m", "\x1b[47m"
    BLACK_FOREGROUND, RED_FOREGROUND, GREEN_FOREGROUND = "\x1b[30m", "\x1b[31m", "\x1b[32m"
    YELLOW_FOREGROUND, BLUE_FOREGROUND, MAGENTA_FOREGROUND = "\x1b[33m", "\x1b[34m", "\x1b[35m"
    CYAN_FOREGROUND, WHITE_FOREGROUND = "\x1b[36m", "\x1b[37m"
    CLEAR_SCREEN = "\x1b[2J"
