import { createHmac, randomUUIDv7 } from 'node:crypto';
import { ApiError } from '@uswarm/contract';
import type { Database, Transact } from '../../database/database.js';
import type { WorkStore } from '../../work/work.store.js';
import { type Identity, type Session, tokenHashes } from '../auth/actor.js';
import type { SessionEnds } from '../auth/session-ends.js';
import type { SessionStore } from '../auth/sessions.store.js';
import type { DeviceStore } from '../devices/devices.store.js';
import type { IntegrationService } from '../integrations/integrations.service.js';
import type { RuntimeWishes } from '../runtimes/runtime-wishes.js';
import { TURN_WORK } from '../turns/turn-queue.js';
import type { UserStore } from '../users/users.store.js';
import type { Provision } from '../workspaces/provision.js';

export interface AccountServiceDeps {
  transaction: Transact;
  users: Pick<UserStore, 'find' | 'insert' | 'setEmail' | 'lockOwned' | 'delete' | 'rememberDeletion' | 'wasDeleted'>;
  work: Pick<WorkStore, 'cancel'>;
  runtimes: Pick<RuntimeWishes, 'unwant' | 'wake'>;
  provision: Provision;
  sessions: Pick<SessionStore, 'revoke'>;
  devices: Pick<DeviceStore, 'dropPushToken'>;
  integrations: Pick<IntegrationService, 'revokeAll'>;
  /** Closes sockets. */
  sessionEnds: SessionEnds;
  /** Keys the hash that stays of a deleted account. */
  identityHashKey: string;
}

export interface AccountService {
  wasDeleted(identity: Identity): Promise<boolean>;
  /** @throws ApiError `user_not_found`, `user_deleted`, `user_banned` */
  signIn(identity: Identity): Promise<void>;
  /** Creates user, first workspace, agents, swarm conversation and the wish for a runtime; repeating it changes nothing. */
  signUp(identity: Identity): Promise<void>;
  /**
   * Refuses the token until it has expired, closes its sockets, and takes the push token from the device. On the
   * bypass, whose token is everybody's, all sockets of the user are closed and the token stays good.
   *
   * @throws ApiError `user_not_found`, `user_deleted`, `user_banned`
   */
  logout(identity: Identity, session: Session): Promise<void>;
  /** @throws ApiError `user_not_found`, `user_deleted`, `user_banned` */
  delete(identity: Identity, why: { reason: string; description: string }): Promise<void>;
}

const FIRST_WORKSPACE = 'My workspace';

export function createAccountService(deps: AccountServiceDeps): AccountService {
  const { transaction, users, work, runtimes } = deps;
  const hash = ({ issuer, subject }: Identity): Buffer =>
    createHmac('sha256', deps.identityHashKey).update(`${issuer}\n${subject}`).digest();

  async function requireUser(identity: Identity): Promise<string> {
    const user = await users.find(identity);
    if (user === undefined) {
      throw new ApiError((await users.wasDeleted(hash(identity))) ? 'user_deleted' : 'user_not_found');
    }
    if (user.isBanned) throw new ApiError('user_banned');
    return user.id;
  }

  async function createEverything(identity: Identity, tx: Database): Promise<boolean> {
    const userId = randomUUIDv7();
    if (!(await users.insert({ ...identity, id: userId }, tx))) return false;
    await deps.provision({ userId, name: FIRST_WORKSPACE }, tx);
    return true;
  }

  return {
    wasDeleted: (identity) => users.wasDeleted(hash(identity)),

    async signIn(identity) {
      const userId = await requireUser(identity);
      if (identity.email !== '') await users.setEmail(userId, identity.email);
    },

    async signUp(identity) {
      const user = await users.find(identity);
      if (user?.isBanned === true) throw new ApiError('user_banned');
      if (user !== undefined) return;
      const created = await transaction((tx) => createEverything(identity, tx));
      if (created) runtimes.wake();
    },

    async logout(identity, session) {
      const userId = await requireUser(identity);
      // Replicas and gateways of release 0.2 know the token by the other hash.
      const hashes = tokenHashes(session);
      await transaction(async (tx) => {
        if (hashes.length > 0 && identity.expiresAt !== null) {
          await deps.sessions.revoke(hashes, identity.expiresAt, tx);
        }
        await deps.devices.dropPushToken(userId, session.device.id, tx);
      });
      if (hashes.length === 0) deps.sessionEnds.publish(userId);
      for (const tokenHash of hashes) deps.sessionEnds.publish(userId, tokenHash);
    },

    async delete(identity, { reason, description }) {
      const userId = await requireUser(identity);
      await transaction(async (tx) => {
        // Leases before rows, as replies and the lifecycle lock them: the other way round is a deadlock.
        for (const workspaceId of await users.lockOwned(userId, tx)) {
          await work.cancel(TURN_WORK, workspaceId, tx);
          await runtimes.unwant(workspaceId, tx);
        }
        await deps.integrations.revokeAll(userId, tx);
        await users.delete(userId, tx);
        await users.rememberDeletion(hash(identity), reason, description, tx);
      });
      deps.sessionEnds.publish(userId);
      runtimes.wake();
    },
  };
}
