import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { setImmediate } from 'node:timers/promises';
import { afterEach } from '@jest/globals';
import type { MessageContent } from '@uswarm/contract';
import { parseChatArguments } from '../src/chat-arguments.js';
import { runChat } from '../src/run-chat.js';
import { type FakeOptions, startFakeUswarm } from './fake-uswarm.js';
import type { Script } from './script.js';

let cleanup = new AsyncDisposableStack();
afterEach(async () => {
  await cleanup.disposeAsync();
  cleanup = new AsyncDisposableStack();
});

/** A fake server that ends with the test. */
export async function fakeUswarm(script: Script, options?: FakeOptions) {
  const fake = await startFakeUswarm(script, options);
  cleanup.defer(fake.close);
  return fake;
}

/** Starts the command against a fake server. */
export function chatWithInput(url: string, args: string[], stdin: PassThrough) {
  const [stdout, stderr] = [new PassThrough(), new PassThrough()];
  const printed = { out: '', err: '' };
  stdout.setEncoding('utf8').on('data', (piece: string) => void (printed.out += piece));
  stderr.setEncoding('utf8').on('data', (piece: string) => void (printed.err += piece));
  async function run() {
    const dataDir = await mkdtemp(join(tmpdir(), 'uswarm-chat-'));
    cleanup.defer(() => rm(dataDir, { recursive: true }));
    await writeFile(
      join(dataDir, 'local.json'),
      JSON.stringify({ url, issuer: `${url}/issuer`, e2e_token: 'x', pid: process.pid }),
    );
    const parsed = parseChatArguments([...args, '--data-dir', dataDir], {});
    const code = await runChat(parsed, { stdin, stdout, stderr, env: {} }, new AbortController().signal);
    await setImmediate();
    return { code, ...printed };
  }
  async function seen(text: string): Promise<void> {
    while (!printed.out.includes(text)) await once(stdout, 'data');
  }
  return { ended: run(), printed: seen };
}

/** Runs the command against a fake server and returns its output. */
export function chat(url: string, args: string[], input?: string) {
  const stdin = new PassThrough();
  stdin.end(input);
  return chatWithInput(url, args, stdin).ended;
}

/** Content for a card with two actions, of which one can be chosen. */
export const choiceCard = (selected: string | null): MessageContent & { type: 'action_card' } => ({
  type: 'action_card',
  title: 'Which one?',
  description: '',
  actions: [
    { id: 'a', label: 'The first', style: 'primary' },
    { id: 'b', label: 'The second', style: 'secondary' },
  ],
  selected_action_id: selected,
});
