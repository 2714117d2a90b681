const unsigned char blob[] = {0x7f, 'E', 76, 0x46, -1, 1e3f, 0b101, 1'000, 0777};
const char* a =
    "\x7f"
    "ELF\0\u00e9"
    R"x(.version 8.0 .target sm_90)x";
asm(".incbin \"x\"");
