/* A sender and a receiver of UDP that share no line with the laboratory: a referee of its figures.
 *
 *   referee echo PORT                              says `ready`, and answers each datagram with itself, until it is killed
 *   referee ask ADDRESS PORT SIZE COUNT             sends one after the other and waits a second at most for each answer;
 *                                                  prints: answers, median round trip in nanoseconds
 *   referee count PORT COUNT                       says `ready`, and receives until all have come, or nothing has for a second
 *                                                  after the first; prints: datagrams, octets after the first arrival,
 *                                                  nanoseconds from the first arrival to the last
 *   referee send ADDRESS PORT SIZE COUNT RATE      sends so many a second
 *
 * SIZE is the payload, 8 octets or more; its first four are the number of the datagram. Each is counted once. */
#include <arpa/inet.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

enum { LARGEST = 65536, BUFFER = 16 << 20 };
static uint8_t datagram[LARGEST];

static void fail(const char *what)
{
    perror(what);
    exit(1);
}

static int64_t now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * INT64_C(1000000000) + time.tv_nsec;
}

static unsigned long number(const char *text)
{
    char *end;
    unsigned long value = strtoul(text, &end, 10);
    if (*text == 0 || *end != 0) {
        fprintf(stderr, "%s: not a number\n", text);
        exit(2);
    }
    return value;
}

static int bound(unsigned short port)
{
    int six = socket(AF_INET6, SOCK_DGRAM, 0), room = BUFFER;
    struct sockaddr_in6 any = { .sin6_family = AF_INET6, .sin6_port = htons(port), .sin6_addr = in6addr_any };
    if (six < 0 || setsockopt(six, SOL_SOCKET, SO_RCVBUFFORCE, &room, sizeof room) < 0
        || bind(six, (struct sockaddr *)&any, sizeof any) < 0)
        fail("bind");
    puts("ready");
    fflush(stdout);
    return six;
}

static int connected(const char *address, unsigned short port)
{
    struct sockaddr_in6 six = { .sin6_family = AF_INET6, .sin6_port = htons(port) };
    struct sockaddr_in four = { .sin_family = AF_INET, .sin_port = htons(port) };
    int is_six = inet_pton(AF_INET6, address, &six.sin6_addr) == 1;
    if (!is_six && inet_pton(AF_INET, address, &four.sin_addr) != 1) {
        fprintf(stderr, "%s: not an address\n", address);
        exit(2);
    }
    int made = socket(is_six ? AF_INET6 : AF_INET, SOCK_DGRAM, 0);
    struct sockaddr *to = is_six ? (struct sockaddr *)&six : (struct sockaddr *)&four;
    if (made < 0 || connect(made, to, is_six ? sizeof six : sizeof four) < 0)
        fail("connect");
    return made;
}

static void wait_at_most(int socket, struct timeval limit)
{
    if (setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit) < 0)
        fail("SO_RCVTIMEO");
}

static void echo(int here)
{
    struct sockaddr_storage from;
    for (;;) {
        socklen_t length = sizeof from;
        ssize_t size = recvfrom(here, datagram, sizeof datagram, 0, (struct sockaddr *)&from, &length);
        if (size >= 0)
            sendto(here, datagram, size, 0, (struct sockaddr *)&from, length);
    }
}

static int by_size(const void *one, const void *other)
{
    int64_t a = *(const int64_t *)one, b = *(const int64_t *)other;
    return (a > b) - (a < b);
}

static void ask(int there, size_t size, uint32_t count)
{
    static uint8_t answer[LARGEST];
    int64_t *times = calloc(count, sizeof *times);
    uint32_t answers = 0;
    wait_at_most(there, (struct timeval){ .tv_sec = 1 });
    for (uint32_t each = 0; each < count; each++) {
        memcpy(datagram, &each, sizeof each);
        int64_t sent = now();
        if (send(there, datagram, size, 0) < 0)
            fail("send");
        ssize_t came;
        /* A late answer to an earlier question is none to this one. */
        while ((came = recv(there, answer, sizeof answer, 0)) >= 0)
            if ((size_t)came == size && memcmp(answer, datagram, size) == 0) {
                times[answers++] = now() - sent;
                break;
            }
        if (came < 0 && errno != EAGAIN)
            fail("recv");
    }
    qsort(times, answers, sizeof *times, by_size);
    printf("%u %lld\n", answers, answers ? (long long)times[answers / 2] : 0);
}

static void count_arrivals(int here, uint32_t count)
{
    uint8_t *seen = calloc(count, 1);
    uint32_t datagrams = 0;
    uint64_t octets = 0;
    int64_t first = 0, last = 0;
    while (datagrams < count) {
        ssize_t size = recv(here, datagram, sizeof datagram, 0);
        if (size < 0)
            break;
        uint32_t each;
        memcpy(&each, datagram, sizeof each);
        if (size < (ssize_t)sizeof each || each >= count || seen[each]++)
            continue;
        last = now();
        if (datagrams++ == 0) {
            first = last;
            wait_at_most(here, (struct timeval){ .tv_sec = 1 });
        } else {
            octets += size;
        }
    }
    printf("%u %llu %lld\n", datagrams, (unsigned long long)octets, (long long)(last - first));
}

static void send_paced(int there, size_t size, uint32_t count, unsigned long rate)
{
    int64_t begun = now();
    for (uint32_t each = 0; each < count; each++) {
        int64_t due = begun + each * INT64_C(1000000000) / (int64_t)rate;
        struct timespec until = { .tv_sec = due / 1000000000, .tv_nsec = due % 1000000000 };
        clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL);
        memcpy(datagram, &each, sizeof each);
        /* What the queue in front of a cable has no room for is lost; whoever counts sees it. */
        if (send(there, datagram, size, 0) < 0 && errno != ENOBUFS)
            fail("send");
    }
}

int main(int count, char **words)
{
    const char *mode = count > 1 ? words[1] : "";
    if (strcmp(mode, "echo") == 0 && count == 3)
        echo(bound(number(words[2])));
    else if (strcmp(mode, "count") == 0 && count == 4)
        count_arrivals(bound(number(words[2])), number(words[3]));
    else if (strcmp(mode, "ask") == 0 && count == 6)
        ask(connected(words[2], number(words[3])), number(words[4]), number(words[5]));
    else if (strcmp(mode, "send") == 0 && count == 7)
        send_paced(connected(words[2], number(words[3])), number(words[4]), number(words[5]), number(words[6]));
    else
        return fprintf(stderr, "wanted: echo, ask, count or send\n"), 2;
    return 0;
}
