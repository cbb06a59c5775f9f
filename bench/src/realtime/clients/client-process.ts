import { fork } from 'node:child_process';
import type { CloseStack } from '@uswarm/service-kit';
import { BenchError } from '../../settings.js';
import { ended, endWithThisProcess, program } from '../../world/processes.js';
import type { ClientSpec, Command, Results } from './commands.js';

/** A process with clients. */
export interface ClientProcess {
  ask<Name extends Command['do']>(command: Extract<Command, { do: Name }>): Promise<Results[Name]>;
  /** The clients do not read any more; the connections stay open. */
  pause(): void;
  resume(): void;
}

type Answer = { id: number; result: unknown } | { id: number; error: string };

export function startClients(stack: CloseStack): ClientProcess {
  const child = fork(program('../realtime/clients/clients-main.js'));
  endWithThisProcess(child);
  stack.defer('clients', () => ended(child, 'SIGKILL'));
  const waiting = new Map<number, PromiseWithResolvers<unknown>>();
  child.on('message', (message: Answer) => {
    const asked = waiting.get(message.id);
    waiting.delete(message.id);
    if ('error' in message) asked?.reject(new BenchError(message.error));
    else asked?.resolve(message.result);
  });
  child.once('exit', () => waiting.forEach(({ reject }) => reject(new BenchError('A process with clients ended.'))));
  let ids = 0;
  return {
    async ask(command) {
      ids += 1;
      const asked = Promise.withResolvers<unknown>();
      waiting.set(ids, asked);
      child.send({ id: ids, command });
      return (await asked.promise) as never;
    },
    pause: () => void child.kill('SIGSTOP'),
    resume: () => void child.kill('SIGCONT'),
  };
}

const CONCURRENT_HANDSHAKES = 20;

/** Connects the clients, an equal number in each process. */
export async function connectAll(processes: readonly ClientProcess[], clients: readonly ClientSpec[]): Promise<void> {
  const shares = processes.map((_, n) => clients.filter((_client, index) => index % processes.length === n));
  await Promise.all(
    processes.map((each, n) =>
      each.ask<'connect'>({ do: 'connect', clients: shares[n] ?? [], concurrent: CONCURRENT_HANDSHAKES }),
    ),
  );
}
