import type { Schedule, Step } from './schedule.js';

const send = (client: number, retry = false): Step => ({ do: 'send', client, retry });
const overRest = (client: number): Step => ({ do: 'send', client, retry: true, overRest: true });
const wait = (ms: number): Step => ({ do: 'wait', ms });
const current = (...steps: Step[]): Schedule => ({ previousGateway: false, steps });

/** Schedules that once broke a promise, or that generated ones rarely contain. They run before the generated ones. */
export const NAMED_SCHEDULES: Readonly<Record<string, Schedule>> = {
  // The orchestrator of its gateway is unavailable when the last client subscribes.
  'a device joins while the orchestrator is unavailable': current(
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
  ),
  // The gateway repairs the gap from the log, and the device that knows only the specification must not miss a creation.
  'a gateway is cut off from the bus while a question is asked and answered': current(
    send(0),
    wait(3_000),
    { do: 'cut off gateway', index: 0, seconds: 6 },
    overRest(1),
    send(1),
    wait(4_000),
    { do: 'ask for a card', client: 1 },
    wait(2_000),
    send(1),
  ),
  // Workspace list events must reach all devices.
  'nothing but devices fails': current(
    { do: 'create workspace', client: 0 },
    send(0),
    overRest(1),
    { do: 'ask for a card', client: 1 },
    { do: 'go offline', client: 1, seconds: 2 },
    wait(2_000),
    { do: 'read slowly', client: 0, seconds: 2 },
    { do: 'create conversation', client: 0 },
    { do: 'create workspace', client: 1 },
    wait(2_000),
    // Both choose something else.
    { do: 'choose', client: 0, pick: 0 },
    { do: 'choose', client: 1, pick: 1 },
    send(2),
    wait(1_000),
    { do: 'read', client: 0 },
    { do: 'stop the answer', client: 2 },
    { do: 'delete workspace', client: 2 },
  ),
  'Postgres, the relay and the runtime fail while answers are written': current(
    send(0),
    { do: 'ask for a card', client: 1 },
    wait(2_000),
    { do: 'restart Postgres', how: 'kill' },
    overRest(0),
    wait(2_000),
    { do: 'choose', client: 0, pick: 0 },
    { do: 'kill relay', seconds: 3 },
    send(1, true),
    wait(2_000),
    { do: 'pause runtimes', seconds: 5 },
    send(0),
    { do: 'create workspace', client: 1 },
    wait(1_000),
    { do: 'pause relay', seconds: 5 },
    send(2),
  ),
};

/** Schedules with separate tests. */
export const RARE_SCHEDULES = {
  promotedStandby: current(
    send(0),
    { do: 'ask for a card', client: 1 },
    wait(2_000),
    { do: 'promote a standby', lackMs: 1_500 },
    // Until the primary server ends, all of it is lost.
    { do: 'create workspace', client: 1 },
    { do: 'choose', client: 0, pick: 0 },
    send(0, true),
    wait(500),
    overRest(1),
    { do: 'create conversation', client: 0 },
    wait(700),
    // Soon after the promotion, the log is longer than before.
    ...Array.from({ length: 12 }, (_, index) => [send(index % 3, index === 0), wait(100)]).flat(),
    { do: 'read', client: 1 },
    overRest(0),
  ),
  previousGateway: {
    previousGateway: true,
    steps: [
      send(0),
      send(1, true),
      wait(1_000),
      { do: 'ask for a card', client: 1 },
      { do: 'create conversation', client: 0 },
      wait(1_000),
      send(1),
      { do: 'kill gateway', index: 1, seconds: 2 },
      send(2),
      wait(500),
      { do: 'choose', client: 0, pick: 0 },
      { do: 'lose bus messages', seconds: 3 },
      send(0),
      { do: 'go offline', client: 0, seconds: 2 },
      overRest(1),
      { do: 'kill orchestrator', index: 1, seconds: 2 },
      wait(1_000),
      send(1),
    ],
  },
} satisfies Record<string, Schedule>;
