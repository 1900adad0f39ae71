/* A program of 32 bits without a C library: it writes 70,000 bytes to child.out. */
static char data[70000];

static int call(int number, int a, int b, int c) {
    int result;
    __asm__ volatile("int $0x80" : "=a"(result) : "a"(number), "b"(a), "c"(b), "d"(c) : "memory");
    return result;
}

void _start(void) {
    const int opens = 5, writes = 4, ends = 1, create = 01101;
    const int file = call(opens, (int)"child.out", create, 0666);
    call(ends, call(writes, file, (int)data, sizeof data) != sizeof data, 0, 0);
}
