#include "tests/instructions/meter.h"

#include <valgrind/callgrind.h>

#include "base/check.h"

namespace tidemark::instructions {

void Meter::start() {
  TM_CHECK(!started_, "one part of a script is counted");
  started_ = true;
  CALLGRIND_START_INSTRUMENTATION;
}

void Meter::on() {
  if (!started_) return;
  TM_CHECK(!on_, "what is counted is not counted twice");
  on_ = true;
  CALLGRIND_TOGGLE_COLLECT;
}

void Meter::off() {
  if (!on_) return;
  CALLGRIND_TOGGLE_COLLECT;
  on_ = false;
}

}  // namespace tidemark::instructions
