/*
  Says where a program is that takes too long: LD_PRELOAD=stack.so STACK_AFTER=50 PROGRAM. The calls that led to where the main thread is then go to a file, for each
  process one, and the program goes on. conf/run-tests uses it for tests that exceed their time limit.

  Variables of the environment
+ STACK_AFTER  - seconds from the start of the process; without it nothing is done
- STACK_FOLDER - where the files are written, NAME-PID.stack; default: where the process runs

  Notes:
  Only programs with MPI are looked at, not the shells and launchers around them. Functions that are not exported are offsets, which addr2line resolves.
*/
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <execinfo.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define MAX_CALLS 100

static char file_name[PATH_MAX];

static void WriteCalls(int signal_number)
{
  const int before = errno, file = open(file_name, O_WRONLY | O_CREAT | O_TRUNC, 0644);
  void     *calls[MAX_CALLS];

  (void)signal_number;
  if (file >= 0) {
    backtrace_symbols_fd(calls, backtrace(calls, MAX_CALLS), file);
    close(file);
  }
  errno = before;
}

/* The signal goes to the thread that runs main(); real-time signals are nobody else's. */
static void StartTimer(double seconds)
{
  struct sigaction  action = {.sa_handler = WriteCalls, .sa_flags = SA_RESTART};
  struct sigevent   event  = {.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = SIGRTMIN + 7};
  struct itimerspec when   = {.it_value = {.tv_sec = (time_t)seconds, .tv_nsec = (long)((seconds - (double)(time_t)seconds) * 1e9)}};
  timer_t           timer;

  event._sigev_un._tid = (pid_t)syscall(SYS_gettid);
  if (sigaction(event.sigev_signo, &action, NULL) == 0 && timer_create(CLOCK_MONOTONIC, &event, &timer) == 0) (void)timer_settime(timer, 0, &when, NULL);
}

__attribute__((constructor)) static void Initialize(void)
{
  const char *after = getenv("STACK_AFTER"), *folder = getenv("STACK_FOLDER");
  void       *call;

  if (after == NULL || atof(after) <= 0 || dlsym(RTLD_DEFAULT, "MPI_Init") == NULL) return;
  (void)backtrace(&call, 1); // loads what it needs, which a signal handler must not
  (void)snprintf(file_name, sizeof(file_name), "%s/%s-%d.stack", folder != NULL ? folder : ".", program_invocation_short_name, (int)getpid());
  StartTimer(atof(after));
}
