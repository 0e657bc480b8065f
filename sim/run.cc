#include "sim/run_context.h"
#include "sim/under_way.h"
#include "sim/world.h"

namespace tidemark::sim {

RunResult run_world(const RunOptions& options) {
  const UnderWay under_way(options);
  RunContext run(options.seed, options.store);
  run.plan = draw_plan(run.dice);
  run.tracing = options.tracing;
  run.traced = options.traced;
  RunResult result;
  {
    World world(run, options);
    try {
      world.run();
    } catch (const Violation& violation) {
      result.violation = violation.what();
      run.tell(result.violation);
    } catch (const std::exception& thrown) {
      result.violation = std::string("thrown: ") + thrown.what();
      run.tell(result.violation);
    }
    result.actions = world.actions();
    result.asked = world.asked();
  }
  result.fingerprint = run.fingerprint;
  result.steps = run.timeline.steps();
  result.virtual_ms = run.timeline.now_ms();
  result.counters = run.counters;
  return result;
}

}  // namespace tidemark::sim
