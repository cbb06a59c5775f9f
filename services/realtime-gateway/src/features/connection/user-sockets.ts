import type { SessionEndingCode } from '@uswarm/contract';
import type { Logger } from '@uswarm/service-kit';
import { z } from 'zod';

/** A socket on any gateway. */
export interface CountedSocket {
  id: string;
  /** Missing on sockets from a gateway of release 0.2. */
  data: { connectedAt?: number };
  /** `issued`: connection time in whole milliseconds since the epoch. */
  handshake: { issued: number };
}

const connectionTime = ({ data, handshake }: CountedSocket): number => data.connectedAt ?? handshake.issued;

interface Room {
  fetchSockets(): Promise<CountedSocket[]>;
}

/** The part of a socket.io namespace that counts sockets on all gateways. */
export interface SocketsNamespace {
  in(room: string): { timeout(ms: number): Room };
  local: { in(room: string): Room };
  serverSideEmit(event: typeof END_EVENT, request: SocketEndRequest): unknown;
}

/** The request of one gateway to the others to close a socket. */
const SocketEndRequest = z.object({ socket_id: z.string() });
type SocketEndRequest = z.output<typeof SocketEndRequest>;
export const END_EVENT = 'socket.end';

export interface UserSocketsDeps {
  namespace: SocketsNamespace;
  /** Maximum number of sockets per user on all gateways; 0 disables the limit. */
  limit: number;
  /** Ends the session of a socket on this gateway. @returns true if this gateway has the socket */
  end(socketId: string, code: SessionEndingCode): boolean;
  logger: Pick<Logger, 'warn'>;
}

export interface UserSockets {
  /** A socket was added: closes the user's oldest ones above the limit. Never rejects. */
  added(userId: string): Promise<void>;
  /** Handles the request of another gateway to close a socket. */
  handleEndRequest(request: unknown): void;
}

/** Milliseconds within which the other gateways must respond; otherwise only local sockets are counted. */
const RESPONSE_TIMEOUT_MS = 2_000;

export const userRoom = (userId: string): string => `user:${userId}`;

export function createUserSockets({ namespace, limit, end, logger }: UserSocketsDeps): UserSockets {
  /** Users whose sockets are being counted, and whether they must be counted again. */
  const counting = new Map<string, boolean>();
  let reported = false;

  async function socketsOf(userId: string): Promise<CountedSocket[]> {
    const room = userRoom(userId);
    try {
      const sockets = await namespace.in(room).timeout(RESPONSE_TIMEOUT_MS).fetchSockets();
      reported = false;
      return sockets;
    } catch (error) {
      if (!reported)
        logger.warn({ err: error }, 'counting sockets of all gateways failed; counting local sockets only');
      reported = true;
      return namespace.local.in(room).fetchSockets();
    }
  }

  async function enforce(userId: string): Promise<void> {
    const sockets = await socketsOf(userId);
    // Gateways that count concurrently must select the same sockets.
    const byAge = sockets.toSorted((a, b) => connectionTime(a) - connectionTime(b) || (a.id < b.id ? -1 : 1));
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
        logger.warn({ err: error }, 'counting the sockets of a user failed');
      } finally {
        counting.delete(userId);
      }
    },
    handleEndRequest(request) {
      const parsed = SocketEndRequest.safeParse(request);
      if (parsed.success) end(parsed.data.socket_id, 'too_many_sockets');
    },
  };
}
