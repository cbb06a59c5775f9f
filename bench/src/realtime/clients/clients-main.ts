import { createSocketIoClient, createWsClient } from './bare-clients.js';
import type { ClientSpec, Command, Results } from './commands.js';
import { type Client, UswarmClient } from './uswarm-client.js';

// A process with benchmark clients, so that their memory and processor time do not count as a server's.

let probes: number[] = [];
const probed = (ms: number): void => void probes.push(ms);
const clients: Client[] = [];

function createClient(spec: ClientSpec): Client {
  if (spec.kind === 'uswarm') return new UswarmClient(spec, probed);
  return spec.kind === 'ws' ? createWsClient(spec, probed) : createSocketIoClient(spec, probed);
}

async function connect(specs: readonly ClientSpec[], concurrent: number): Promise<number> {
  const queue = specs.map(createClient);
  clients.push(...queue);
  const worker = async (): Promise<void> => {
    for (let next = queue.shift(); next !== undefined; next = queue.shift()) await next.open();
  };
  await Promise.all(Array.from({ length: concurrent }, worker));
  return clients.length;
}

async function answer(command: Command): Promise<Results[Command['do']]> {
  switch (command.do) {
    case 'connect':
      return connect(command.clients, command.concurrent);
    case 'resume': {
      const client = clients[command.client];
      if (!(client instanceof UswarmClient)) throw new Error('This client cannot resume.');
      return client.resume(command.missing);
    }
    case 'states':
      return clients.map((client) => client.state());
    case 'probes': {
      const taken = probes;
      probes = [];
      return taken;
    }
    case 'close':
      for (const client of clients.splice(0)) client.close();
      return 0;
  }
}

process.on('message', ({ id, command }: { id: number; command: Command }) => {
  answer(command).then(
    (result) => process.send?.({ id, result }),
    (error: unknown) => process.send?.({ id, error: String(error) }),
  );
});
process.once('disconnect', () => process.exit(0));
