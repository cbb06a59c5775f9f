import { type ChildProcess, spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { z } from 'zod';

const ShownMessage = z.looseObject({
  id: z.string().nullable(),
  local_id: z.string().nullable(),
  role: z.string(),
  text: z.string(),
  status: z.string(),
  state: z.enum(['sent', 'queued', 'refused']),
  /** Of a card: the chosen action. */
  selected: z.string().nullish(),
});
export type ShownMessage = z.output<typeof ShownMessage>;

/** The answer to `state?` (docs/client-conformance.md). Clients may add fields. */
const ClientState = z.looseObject({
  connection: z.string(),
  error: z.string().nullable(),
  conversation: z.looseObject({ title: z.string(), unread_count: z.number() }).nullable(),
  messages: z.array(ShownMessage),
});
export type ClientState = z.output<typeof ClientState>;

export interface ClientOptions {
  command: readonly string[];
  /** The folder in which it runs. */
  cwd: string;
  env: NodeJS.ProcessEnv;
  /** Milliseconds in which it answers a verb. */
  answerMs: number;
}

const OUTPUT_KEPT = 4_000;

/** A client under test. It reads a verb per line, and answers each with one line, in order. */
export class ClientProcess {
  readonly #child: ChildProcess;
  readonly #answerMs: number;
  readonly #waiting: { resolve: (answer: unknown) => void; reject: (error: Error) => void }[] = [];
  readonly #exited: Promise<void>;
  #end: string | undefined;
  /** The end of its standard error. */
  log = '';

  constructor({ command: [program = '', ...args], cwd, env, answerMs }: ClientOptions) {
    this.#answerMs = answerMs;
    // A group, because a client may start processes, such as curl.
    this.#child = spawn(program, args, { cwd, env, stdio: ['pipe', 'pipe', 'pipe'], detached: true });
    const { stdin, stdout, stderr } = this.#child;
    if (stdin === null || stdout === null || stderr === null) throw new Error('The client has no pipes');
    stdin.on('error', () => undefined);
    stderr.on('data', (data: Buffer) => void (this.log = (this.log + data.toString()).slice(-OUTPUT_KEPT)));
    createInterface({ input: stdout }).on('line', (line) => this.#receive(line));
    this.#exited = new Promise((resolve) => {
      this.#child.once('error', (error) => this.#fail(`The client did not start: ${error.message}`, resolve));
      this.#child.once('close', (code, signal) => this.#fail(`The client ended (${code ?? signal})`, resolve));
    });
  }

  async state(): Promise<ClientState> {
    const answer = await this.#ask({ verb: 'state?' });
    const state = ClientState.safeParse(answer);
    if (state.success) return state.data;
    throw new Error(`The answer to state? is not valid: ${z.prettifyError(state.error)}\n${JSON.stringify(answer)}`);
  }

  async send(text: string): Promise<void> {
    await this.#ask({ verb: 'send', text });
  }

  async background(ms: number): Promise<void> {
    await this.#ask({ verb: 'background', ms });
  }

  /** Ends it without a warning, as a phone does with an app. */
  async kill(): Promise<void> {
    this.#killAll();
    await this.#exited;
  }

  /** Ends its input, after which it must end. */
  async close(): Promise<void> {
    this.#child.stdin?.end();
    const force = setTimeout(() => this.#killAll(), 1_000);
    await this.#exited;
    clearTimeout(force);
  }

  #killAll(): void {
    const { pid } = this.#child;
    if (pid === undefined || this.#end !== undefined) return;
    try {
      process.kill(-pid, 'SIGKILL');
    } catch {
      // It has ended by itself.
    }
  }

  #fail(reason: string, done: () => void): void {
    this.#end = reason;
    for (const { reject } of this.#waiting.splice(0)) reject(new Error(reason));
    done();
  }

  #receive(line: string): void {
    const waiting = this.#waiting.shift();
    try {
      waiting?.resolve(JSON.parse(line));
    } catch {
      waiting?.reject(new Error(`The client answered with a line that is not JSON: ${line.slice(0, 200)}`));
    }
  }

  #ask(request: object): Promise<unknown> {
    if (this.#end !== undefined) return Promise.reject(new Error(this.#end));
    return new Promise((resolve, reject) => {
      const timer = setTimeout(
        () => reject(new Error(`The client did not answer ${JSON.stringify(request)}`)),
        this.#answerMs,
      );
      const settle =
        <Value>(next: (value: Value) => void) =>
        (value: Value) => {
          clearTimeout(timer);
          next(value);
        };
      this.#waiting.push({ resolve: settle(resolve), reject: settle(reject) });
      this.#child.stdin?.write(`${JSON.stringify(request)}\n`);
    });
  }
}
