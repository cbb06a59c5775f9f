/** The client's requests and events, in order. Times are monotonic milliseconds. */
export type Seen =
  | { kind: 'connect'; at: number; transport: Transport; token: string; resumeToken: string | undefined }
  | { kind: 'subscribe'; at: number; since: string | undefined; resumesBy: 'cursor' | 'since' | undefined }
  | { kind: 'send'; at: number; localId: string; text: string; by: 'socket' | 'rest'; outcome: string }
  | { kind: 'renew'; at: number; token: string }
  | { kind: 'snapshot'; at: number }
  | { kind: 'closed'; at: number };

export type Transport = 'socket' | 'sse';
export type SeenOf<Kind extends Seen['kind']> = Extract<Seen, { kind: Kind }>;
type Unstamped<Event> = Event extends Seen ? Omit<Event, 'at'> : never;

export class Sightings {
  readonly #events: Seen[] = [];
  /** Contract violations. */
  readonly violations: string[] = [];

  add(event: Unstamped<Seen>): void {
    this.#events.push({ ...event, at: performance.now() } as Seen);
  }

  of<Kind extends Seen['kind']>(kind: Kind): SeenOf<Kind>[] {
    return this.#events.filter((event): event is SeenOf<Kind> => event.kind === kind);
  }
}
