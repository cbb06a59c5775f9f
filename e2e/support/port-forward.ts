import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import type { Tools } from './tools.js';

export interface Forwarded {
  /** On 127.0.0.1. */
  port: number;
  close(): Promise<void>;
}

/** @param target as for kubectl: `service/x`, `pod/x`; connections arrive at the pod's loopback */
export async function forwardPort(
  { kubectlCommand }: Pick<Tools, 'kubectlCommand'>,
  namespace: string,
  target: string,
  port: number,
): Promise<Forwarded> {
  const [program, args] = await kubectlCommand(['port-forward', '-n', namespace, target, `:${port}`]);
  const child = spawn(program, args, { stdio: ['ignore', 'pipe', 'pipe'] });
  const ended = once(child, 'close');
  let said = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => (said += text));
  const listening = new Promise<number>((resolve, reject) => {
    createInterface({ input: child.stdout }).on('line', (line) => {
      const match = /127\.0\.0\.1:(\d+) ->/.exec(line);
      if (match !== null) resolve(Number(match[1]));
    });
    child.once('close', () => reject(new Error(`port-forward to ${namespace}/${target} ended: ${said}`)));
    setTimeout(
      () => reject(new Error(`port-forward to ${namespace}/${target} did not start: ${said}`)),
      15_000,
    ).unref();
  });
  const close = async (): Promise<void> => {
    child.kill();
    await ended;
  };
  try {
    return { port: await listening, close };
  } catch (error) {
    await close();
    throw error;
  }
}
