import type { Step } from './schedule.js';

const send = (client: number, retry = false): Step => ({ do: 'send', client, retry });
const wait = (ms: number): Step => ({ do: 'wait', ms });

/** Schedules that once broke a promise. They run before the generated ones. */
export const NAMED_SCHEDULES: Readonly<Record<string, Step[]>> = {
  // The orchestrator of its gateway is unavailable when the last client subscribes.
  'a device joins while the orchestrator is unavailable': [
    send(0, true),
    send(1),
    wait(1_405),
    wait(1_995),
    wait(174),
    { do: 'pause orchestrator', index: 0, seconds: 4 },
    { do: 'kill orchestrator', index: 0, seconds: 2 },
    { do: 'delay the bus', seconds: 2 },
    wait(1_580),
    send(2, true),
    wait(196),
    send(0),
    send(0),
    send(1),
    wait(610),
    wait(96),
  ],
};
