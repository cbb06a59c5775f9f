import type { SessionEndingCode } from '@uswarm/contract';
import type { Logger } from '@uswarm/service-kit';
import { z } from 'zod';

/** A socket on any gateway. */
export interface CountedSocket {
  id: string;
  /** `issued`: when it connected, in milliseconds since 1970. */
  handshake: { issued: number };
}

interface Room {
  fetchSockets(): Promise<CountedSocket[]>;
}

/** The part of a socket.io namespace that counting needs; it reaches all gateways. */
export interface SocketsNamespace {
  in(room: string): { timeout(ms: number): Room };
  local: { in(room: string): Room };
  serverSideEmit(event: typeof END_EVENT, order: SocketEndOrder): unknown;
}

/** What one gateway tells the others to close. */
const SocketEndOrder = z.object({ socket_id: z.string() });
type SocketEndOrder = z.output<typeof SocketEndOrder>;
export const END_EVENT = 'socket.end';

export interface UserSocketsDeps {
  namespace: SocketsNamespace;
  /** Sockets of one user over all gateways; 0 disables the limit. */
  limit: number;
  /** Ends the session of a socket of this gateway. @returns whether it has the socket */
  end(socketId: string, code: SessionEndingCode): boolean;
  logger: Pick<Logger, 'warn'>;
}

export interface UserSockets {
  /** One more socket of the user was let in: closes the oldest if that is one too many. Never rejects. */
  added(userId: string): Promise<void>;
  /** Another gateway found a socket to close. */
  ordered(order: unknown): void;
}

/** Milliseconds that the other gateways may take to answer; those of this one are counted alone otherwise. */
const ANSWER_MS = 2_000;

export const userRoom = (userId: string): string => `user:${userId}`;

export function createUserSockets({ namespace, limit, end, logger }: UserSocketsDeps): UserSockets {
  /** Users who are being counted, and whether they have to be counted again. */
  const counting = new Map<string, boolean>();
  let reported = false;

  async function socketsOf(userId: string): Promise<CountedSocket[]> {
    const room = userRoom(userId);
    try {
      const sockets = await namespace.in(room).timeout(ANSWER_MS).fetchSockets();
      reported = false;
      return sockets;
    } catch (error) {
      if (!reported) logger.warn({ err: error }, 'sockets of users are counted on this gateway alone');
      reported = true;
      return namespace.local.in(room).fetchSockets();
    }
  }

  async function enforce(userId: string): Promise<void> {
    const sockets = await socketsOf(userId);
    // Gateways that count at the same time must choose the same ones.
    const byAge = sockets.toSorted((a, b) => a.handshake.issued - b.handshake.issued || (a.id < b.id ? -1 : 1));
    for (const { id } of byAge.slice(0, Math.max(0, byAge.length - limit))) {
      if (!end(id, 'too_many_sockets')) namespace.serverSideEmit(END_EVENT, { socket_id: id });
    }
  }

  return {
    async added(userId) {
      if (limit === 0) return;
      if (counting.has(userId)) {
        counting.set(userId, true);
        return;
      }
      try {
        do {
          counting.set(userId, false);
          await enforce(userId);
        } while (counting.get(userId) === true);
      } catch (error) {
        logger.warn({ err: error }, 'the sockets of a user were not counted');
      } finally {
        counting.delete(userId);
      }
    },
    ordered(order) {
      const parsed = SocketEndOrder.safeParse(order);
      if (parsed.success) end(parsed.data.socket_id, 'too_many_sockets');
    },
  };
}
