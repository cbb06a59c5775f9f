import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { causedStatements, type CountedStatement } from '@uswarm/testkit/counted-statements';
import { eventually } from '@uswarm/testkit/eventually';
import { textBody } from '../../test/message-client.js';
import { recordStatements } from '../../test/recorded-statements.js';
import { startTestOrchestrator, type TestOrchestrator } from '../../test/test-orchestrator.js';

/** The numbers only decrease. They include job claims, which an idle orchestrator does not send. */
const MOST = { send: { statements: 3, transactions: 1 }, all: { statements: 35, transactions: 7 } };

/** A slow machine only adds statements, for example a second report of activity, so one of these answers decides. */
const ANSWERS = 5;

/** Longer than the pause between two polls of an idle orchestrator. */
const IDLE_MS = 1_500;
/** Longer than the longest pause between two polls. */
const POLLS_MS = 12_000;
/** What the driver of runtimes reads less often than all other polls. */
const RARE_POLL = /turnWaits|from "runtime_processes"/;

let uswarm: TestOrchestrator;
beforeAll(async () => {
  uswarm = await startTestOrchestrator({
    // Leases are not extended meanwhile, however slow the machine is.
    environment: { RUNTIME_WORKERS: '1', TURN_WORKERS: '2', USWARM_DEMO_DELAY_MS: '1', WORK_LEASE_MS: '60000' },
  });
});
afterAll(() => uswarm?.close());

it(`a question and its answer take at most ${MOST.all.statements} statements and ${MOST.all.transactions} transactions`, async () => {
  const user = await uswarm.user();
  const home = await uswarm.home(user);
  let done = 0;
  await uswarm.bus.subscribe(home.workspaceId, ({ event }) => {
    if (event === 'message.done') done += 1;
  });
  const answered = async (count: number) =>
    void (await eventually(() => done, { until: (seen) => seen === count, timeoutMs: 60_000 }));
  // Starts the runtime.
  await user.post(home.messages, textBody('Hello'), 201);
  await answered(1);
  await sleep(IDLE_MS);

  const { statements, stop } = recordStatements();
  await sleep(POLLS_MS);
  const atRest = statements.splice(0);
  const count = (recorded: readonly CountedStatement[]) => {
    const caused = causedStatements(recorded, atRest, RARE_POLL);
    return { statements: caused.statements.length, transactions: caused.transactions };
  };
  const counts: (typeof MOST)[] = [];
  while (counts.length < ANSWERS) {
    await user.post(home.messages, textBody('How are you?'), 201);
    await answered(counts.length + 2);
    await sleep(IDLE_MS / 3);
    const sent = statements.splice(0);
    const stored = sent.findIndex(({ text }) => text.startsWith('WITH sends'));
    counts.push({ send: count(sent.slice(0, stored + 1)), all: count(sent) });
    await sleep(IDLE_MS);
    statements.length = 0;
  }
  stop();

  const least = (part: 'send' | 'all', of: 'statements' | 'transactions') =>
    Math.min(...counts.map((one) => one[part][of]));
  expect(least('send', 'statements')).toBeLessThanOrEqual(MOST.send.statements);
  expect(least('send', 'transactions')).toBeLessThanOrEqual(MOST.send.transactions);
  expect(least('all', 'statements')).toBeLessThanOrEqual(MOST.all.statements);
  expect(least('all', 'transactions')).toBeLessThanOrEqual(MOST.all.transactions);
});
