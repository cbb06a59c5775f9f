import { afterAll, afterEach, beforeAll, beforeEach } from '@jest/globals';
import { type ModelStep, words } from '@uswarm/dev-servers';
import { eventually } from '@uswarm/testkit/eventually';
import {
  type AppServers,
  type AppUser,
  type Card,
  startAppServers,
  startAppUser,
  type WordedCall,
} from './app-servers.js';
import { callInParts } from './call-in-parts.js';
import { leftBehind } from './left-behind.js';
import type { Program } from './program.js';
import { type Killed, type SeparateOptions, type SeparateServices, startSeparateServices } from './separate.js';
import { type UsageCheck, watchUsage } from './usage-check.js';

export const SEND = 'gmail.users.messages.send';
export const INSERT = 'calendar.events.insert';

const SUBJECT = /#\d+/;

const callsFor = (message: string): WordedCall[] => {
  const subject = SUBJECT.exec(message)?.[0];
  if (subject === undefined) return [];
  const mail = { name: 'send_mail', arguments: { to: ['bob@example.com'], subject, body: 'Are you free?' } };
  const times = { start: '2026-12-01T09:00:00Z', end: '2026-12-01T09:30:00Z' };
  const event = { name: 'create_calendar_event', arguments: { title: subject, ...times } };
  return [message.includes('event') ? event : mail];
};

/** Streams a call. A message with the word `slowly` has a pause in the middle of its arguments, one with `after a text` before it. */
function inTwoParts([call]: readonly WordedCall[], message: string): readonly ModelStep[] {
  if (call === undefined) return [];
  if (message.includes('after a text'))
    return [...words('I will do '), { hold: `text of ${SUBJECT.exec(message)?.[0]}` }, { toolCalls: [call] }];
  if (!message.includes('slowly')) return [{ toolCalls: [call] }];
  const { begin, end } = callInParts(call);
  return [begin, { hold: `arguments of ${SUBJECT.exec(message)?.[0]}` }, ...end];
}

/** What is outside, and in the database, when a turn has ended. */
export interface AtTheEnd {
  mails: number;
  events: number;
  receipts: { tool: string; status: string }[];
  /** What the turn has left behind, and how its usage breaks invariant 8. */
  left: Record<string, unknown[]>;
}

export const MAIL_SENT: AtTheEnd = {
  mails: 1,
  events: 0,
  receipts: [{ tool: 'send_mail', status: 'succeeded' }],
  left: {},
};
export const EVENT_CREATED: AtTheEnd = {
  mails: 0,
  events: 1,
  receipts: [{ tool: 'create_calendar_event', status: 'succeeded' }],
  left: {},
};
/** A mail whose outcome is reported as unknown. Its receipt stays open for a later look-up. */
export const mailUnknown = (mails: 0 | 1): AtTheEnd => ({
  ...MAIL_SENT,
  mails,
  receipts: [{ tool: 'send_mail', status: 'sent' }],
});

/** Processes, servers, and for each test a user whose agents may send mails and create events without asking. */
export class CallFixture {
  servers!: AppServers;
  services!: SeparateServices;
  user!: AppUser;
  /** Subject of this test's mail or event. */
  name = '';
  private tests = 0;
  private usage!: UsageCheck;

  async start(options?: SeparateOptions, env: Record<string, string> = {}): Promise<void> {
    this.servers = await startAppServers(callsFor, inTwoParts);
    this.services = await startSeparateServices({ ...this.servers.env, ...env }, options);
  }

  async newUser(): Promise<void> {
    this.tests += 1;
    this.name = `#${this.tests}`;
    this.user = await startAppUser(this.services, this.servers);
    this.usage = watchUsage(this.servers.model, this.services);
    for (const app of ['gmail', 'google_calendar'] as const) {
      await this.user.connect(app);
      await this.user.permit(app, 'allow');
    }
  }

  async close(): Promise<void> {
    await this.services?.close();
    await this.servers?.close();
  }

  /** The orchestrator that clients reach. */
  get orchestrator(): Program {
    return this.services.orchestrators.at(-1)!;
  }

  kill = (killed: Killed): Promise<void> => this.services.kill(killed, this.user.workspaceId);

  recover = (killed: Killed = 'the orchestrator'): Promise<void> => this.services.recover(killed);

  /** Asks for a mail, and waits until the model has written half of its arguments. */
  async writeArguments(): Promise<void> {
    await this.user.send(`Send ${this.name} slowly`);
    await this.servers.model.reached(`arguments of ${this.name}`);
  }

  /** Lets the model end its arguments. */
  endArguments(): void {
    this.servers.model.release(`arguments of ${this.name}`);
  }

  /** Asks for a mail, and waits until the client has a text before the call. @returns continues */
  async writeText(): Promise<() => void> {
    await this.user.send(`Send ${this.name} after a text`);
    await this.servers.model.reached(`text of ${this.name}`);
    await this.user.saw('message.chunk');
    return () => this.servers.model.release(`text of ${this.name}`);
  }

  /** Asks for a mail that needs an approval, and waits until the turn waits. */
  async ask(): Promise<Card> {
    await this.user.permit('gmail', 'ask');
    await this.user.send(`Send ${this.name}`);
    const card = await this.user.card();
    await this.untilTurnWaits();
    return card;
  }

  /** Waits until no turn runs. */
  async untilTurnWaits(): Promise<void> {
    const running = `SELECT id FROM turns WHERE workspace_id = $1 AND status IN ('queued', 'running')`;
    await eventually(() => this.ofWorkspace(running), { until: ({ length }) => length === 0 });
  }

  /** Approves a card, and stops the next turn before it begins. @returns continues. @throws if the choice is not committed */
  async approveAndBlock(card: Card): Promise<() => Promise<void>> {
    const unlock = await this.services.lockUsage(this.user.workspaceId);
    const { status } = await this.user.choose(card, 'approve');
    await this.services.untilBlocked();
    const approved = `SELECT FROM tool_approvals WHERE card_message_id = $1 AND status = 'approved'`;
    if (status !== 200 || (await this.services.query(approved, [card.id])).length !== 1)
      throw new Error(`the choice was not committed: ${status}`);
    return unlock;
  }

  /** Waits until a step is in the turn's journal. */
  async untilCommitted(): Promise<void> {
    const steps = 'SELECT FROM turn_entries e JOIN turns t ON t.id = e.turn_id WHERE t.workspace_id = $1';
    await eventually(() => this.ofWorkspace(steps), { until: ({ length }) => length > 0 });
  }

  /** Asks for a mail, and stops the turn at its first statement that uses the table, after the arguments. @returns continues */
  async blockAfterArguments(table: string): Promise<() => Promise<void>> {
    await this.writeArguments();
    const unlock = await this.services.lockTable(table);
    this.endArguments();
    await this.services.untilBlocked();
    return unlock;
  }

  /** Asks for a mail or an event, and waits until its request has arrived. There is no answer until `google.release()`. */
  async requestWithoutAnswer(method: typeof SEND | typeof INSERT, kind: 'hang' | 'stall' = 'hang'): Promise<void> {
    this.servers.google.failNext(method, { kind });
    await this.user.send(method === SEND ? `Send ${this.name}` : `Create the event ${this.name}`);
    await this.servers.google.faulted(method);
  }

  ofWorkspace = (sql: string): Promise<never[]> => this.services.query(sql, [this.user.workspaceId]);

  /** Number of mails that this test sent. */
  mails = (): number => this.servers.google.mailbox.mails.filter(({ parsed }) => parsed.subject === this.name).length;

  /** Waits for the answer after the call. */
  async atTheEnd(): Promise<AtTheEnd> {
    await this.user.answered();
    return this.state();
  }

  async state(): Promise<AtTheEnd> {
    const events = [...this.servers.google.calendar.events.values()].filter(({ summary }) => summary === this.name);
    const left = await leftBehind(this.services, this.user.workspaceId);
    const usage = await this.usage.broken(this.user.workspaceId);
    return {
      mails: this.mails(),
      events: events.length,
      receipts: await this.ofWorkspace('SELECT tool, status FROM receipts WHERE workspace_id = $1 ORDER BY id'),
      left: { ...left, ...(usage.length > 0 && { usage }) },
    };
  }
}

/** Call it within `describe`. One set of processes for the file, and a user for each test. */
export function useCallFixture(options?: SeparateOptions, env?: Record<string, string>): CallFixture {
  const fixture = new CallFixture();
  beforeAll(() => fixture.start(options, env));
  beforeEach(() => fixture.newUser());
  afterEach(() => fixture.user?.close());
  afterAll(() => fixture.close());
  return fixture;
}
