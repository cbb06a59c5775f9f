import dgram from 'node:dgram';
import dns from 'node:dns';
import net from 'node:net';

const refuse = (): never => {
  throw new Error('This process reaches neither the network nor other processes.');
};

/**
 * For a limited process, before it runs anything: the permissions of Node.js 24 cover neither the network nor signals. All
 * clients in Node.js connect with these functions.
 */
export function isolateProcess(): void {
  for (const name of ['fetch', 'WebSocket', 'EventSource', 'XMLHttpRequest']) Reflect.deleteProperty(globalThis, name);
  close(net.Socket.prototype, ['connect']);
  close(net.Server.prototype, ['listen']);
  close(dgram.Socket.prototype, ['bind', 'connect', 'send', 'addMembership']);
  for (const resolver of [dns, dns.promises, dns.Resolver.prototype, dns.promises.Resolver.prototype])
    close(
      resolver,
      Object.getOwnPropertyNames(resolver).filter((name) => /^(?:lookup|resolve|reverse)/.test(name)),
    );
  close(process, ['kill', '_kill', '_debugProcess', '_debugEnd']);
}

function close(owner: object, names: readonly string[]): void {
  for (const name of names) Object.defineProperty(owner, name, { value: refuse, writable: false, configurable: false });
}
