import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { eventually } from '@uswarm/testkit/eventually';
import { textBody } from '../../../test/message-client.js';
import { recordStatements, type RecordedStatement } from '../../../test/recorded-statements.js';
import { startTestOrchestrator, type TestOrchestrator } from '../../../test/test-orchestrator.js';

/** The numbers only decrease. */
const MOST = { send: { statements: 3, transactions: 1 }, all: { statements: 37, transactions: 8 } };

const isMore = ({ send, all }: typeof MOST, most: typeof MOST): boolean =>
  send.statements > most.send.statements ||
  send.transactions > most.send.transactions ||
  all.statements > most.all.statements ||
  all.transactions > most.all.transactions;

/** Longer than the pause between two polls of an idle orchestrator. */
const IDLE_MS = 1_500;
/** Longer than the longest pause between two polls. */
const POLLS_MS = 6_000;
/** What the driver of runtimes reads less often than all other polls. */
const RARE_POLL = /turnWaits|from "runtime_processes"/;
const BEGIN = /^(begin|start transaction)/i;
const END = /^(commit|rollback)/i;
const WRITES = /^(insert|update|delete|with[^]*(insert into|update|delete from)|select[^]*from claim_fairly)/i;

/** Statements that one connection executes in one transaction, or a single one. */
type Unit = RecordedStatement[];

function unitsOf(statements: readonly RecordedStatement[]): Unit[] {
  const open = new Map<unknown, Unit>();
  const units: Unit[] = [];
  for (const statement of statements) {
    const unit = open.get(statement.client) ?? [];
    if (unit.length === 0) units.push(unit);
    unit.push(statement);
    if (BEGIN.test(statement.text)) open.set(statement.client, unit);
    else if (END.test(statement.text)) open.delete(statement.client);
  }
  return units;
}

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
  /** The number of rows that each poll returns although it finds nothing, such as 1 for a lock. */
  const polls = new Map<string, number>();
  for (const { text, rows = 0 } of statements.splice(0)) polls.set(text, Math.max(rows, polls.get(text) ?? 0));
  await user.post(home.messages, textBody('How are you?'), 201);
  await answered(2);
  await sleep(IDLE_MS / 3);
  stop();

  /** A poll that finds nothing does not belong to the answer. */
  const isPoll = ({ text, rows = 0 }: RecordedStatement) => RARE_POLL.test(text) || rows <= (polls.get(text) ?? -1);
  const count = (recorded: readonly RecordedStatement[]) => {
    const units = unitsOf(recorded).filter((unit) => !unit.every((one) => isPoll(one)));
    const transactions = units.filter(([first]) => BEGIN.test(first?.text ?? '') || WRITES.test(first?.text ?? ''));
    return { statements: units.flat().length, transactions: transactions.length };
  };
  const stored = statements.findIndex(({ text }) => text.startsWith('WITH sends'));
  const counted = { send: count(statements.slice(0, stored + 1)), all: count(statements) };
  expect(counted).toEqual(isMore(counted, MOST) ? MOST : counted);
});
