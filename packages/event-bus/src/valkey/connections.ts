import { ErrorReply } from '@redis/client';
import { type Link, type LinkOptions, openLink, type ValkeyClient } from './link.js';
import type { Topology } from './topology.js';
import { addressOf, nodeOf } from './address.js';

/** One connection to each primary. */
export interface Connections {
  /** @throws NoPrimaryError as long as no node has told where it is */
  linkOf(key: string): Link;
  /** Runs a command with this key or sharded channel at its primary, and follows redirects. @throws what the command throws */
  run<T>(key: string, command: (client: ValkeyClient) => Promise<T>): Promise<T>;
  /** True while all primaries are known and connected. */
  ready(): boolean;
  /** Called for each existing and each new link. */
  onLink(listener: (link: Link) => void): void;
  close(): Promise<void>;
}

/** No node has told yet where the key's primary is. */
class NoPrimaryError extends Error {
  constructor() {
    super('the primary is not known');
    this.name = 'NoPrimaryError';
  }
}

const MAX_REDIRECTS = 5;
/** Replies about topology or server state instead of the command. */
const ABOUT_NODE = /^(MOVED|ASK|CLUSTERDOWN|TRYAGAIN|READONLY|MASTERDOWN|LOADING)\b/;
/** Without a host, the port is at the same host. */
const REDIRECT = /^(?<kind>MOVED|ASK) (?<slot>\d+) (?<host>\S*):(?<port>\d+)/;

/** True if another attempt can succeed: an error reply about the command itself is final. */
export const isRetryable = (error: unknown): boolean =>
  !(error instanceof ErrorReply) || ABOUT_NODE.test(error.message);

interface Redirect {
  kind: 'MOVED' | 'ASK';
  slot: number;
  address: string;
}

/** @param from the link that replied */
export function redirectOf(error: unknown, from: Pick<Link, 'address'>): Redirect | undefined {
  const groups = error instanceof ErrorReply ? REDIRECT.exec(error.message)?.groups : undefined;
  if (groups === undefined) return undefined;
  const address = addressOf({ host: groups['host'] || nodeOf(from.address).host, port: Number(groups['port']) });
  return { kind: groups['kind'] as Redirect['kind'], slot: Number(groups['slot']), address };
}

export function connectToPrimaries(topology: Topology, options: LinkOptions): Connections {
  const links = new Map<string, Link>();
  const listeners: ((link: Link) => void)[] = [];
  const closing = new Set<Promise<void>>();
  let closed = false;

  function linkTo(address: string): Link {
    const existing = links.get(address);
    if (existing !== undefined) return existing;
    const link = openLink(address, options);
    links.set(address, link);
    // The node may have been replaced.
    link.client.on('error', () => topology.refresh());
    for (const listener of listeners) listener(link);
    return link;
  }

  function follow(): void {
    if (closed) return;
    const primaries = topology.primaries();
    for (const address of primaries) linkTo(address);
    for (const [address, link] of links) {
      if (primaries.has(address)) continue;
      links.delete(address);
      const done = link
        .close()
        .catch(() => undefined)
        .finally(() => closing.delete(done));
      closing.add(done);
    }
  }
  topology.onChange(follow);
  follow();

  function linkOf(key: string): Link {
    const owner = topology.ownerOf(key);
    if (owner === undefined || closed) throw new NoPrimaryError();
    return linkTo(owner);
  }

  async function run<T>(key: string, command: (client: ValkeyClient) => Promise<T>): Promise<T> {
    let link = linkOf(key);
    let ask = false;
    for (let redirects = 0; ; redirects += 1) {
      try {
        // Without an `await` between them, so that no other command gets between.
        const asked = ask ? link.client.sendCommand(['ASKING']) : undefined;
        asked?.catch(() => undefined);
        return await command(link.client);
      } catch (error) {
        const redirect = redirectOf(error, link);
        if (redirect === undefined || redirects >= MAX_REDIRECTS || closed) {
          if (isRetryable(error)) topology.refresh();
          throw error;
        }
        ask = redirect.kind === 'ASK';
        if (redirect.kind === 'MOVED') {
          topology.moved(redirect.slot, redirect.address);
          topology.refresh();
        }
        link = linkTo(redirect.address);
      }
    }
  }

  return {
    linkOf,
    run,
    ready: () =>
      !closed &&
      topology.primaries().size > 0 &&
      [...topology.primaries()].every((address) => links.get(address)?.client.isReady === true),
    onLink(listener) {
      listeners.push(listener);
      for (const link of links.values()) listener(link);
    },
    async close() {
      closed = true;
      for (const link of links.values()) closing.add(link.close().catch(() => undefined));
      await Promise.all(closing);
    },
  };
}
