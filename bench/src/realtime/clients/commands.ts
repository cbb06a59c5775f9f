/** How a client of the benchmark connects. */
export interface ClientSpec {
  /** `uswarm`: the socket API; the others: a bare server of `peers-main.ts`. */
  kind: 'uswarm' | 'socket.io' | 'ws';
  url: string;
  /** For the handshake. */
  auth: Record<string, string>;
  workspaceIds: readonly string[];
}

/** A time without connection, of the monotonic clock in milliseconds. */
export interface Outage {
  from: number;
  /** When the client was subscribed again. */
  to: number | null;
}

/** The state of one client. */
export interface ClientState {
  outages: readonly Outage[];
  /** The last sequence by workspace id. */
  applied: Record<string, number>;
}

/** What a process with clients is asked for. */
export type Command =
  | { do: 'connect'; clients: readonly ClientSpec[]; concurrent: number }
  /** Connects a client again that misses the last events of its first workspace. */
  | { do: 'resume'; client: number; missing: number }
  /** The state of all clients. */
  | { do: 'states' }
  /** The latencies of probes in milliseconds since the last call. */
  | { do: 'probes' }
  | { do: 'close' };

/** The results of the commands. */
export interface Results {
  connect: number;
  resume: number;
  states: ClientState[];
  probes: number[];
  close: number;
}

/** An event with the time when it was published, in `query`. */
export const PROBE = 'agent.tool';
