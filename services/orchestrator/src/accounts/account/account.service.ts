import { randomUUIDv7 } from 'node:crypto';
import { ApiError } from '@uswarm/contract';
import type { Clock } from '@uswarm/service-kit';
import type { Database, Transaction, WithTransaction } from '../../platform/database/database.js';
import type { JobQueue } from '../../platform/jobs/job-queue.js';
import { appendAudit } from '../../records/audit.store.js';
import type { Identity, Session } from '../auth/actor.js';
import type { IdentityHash } from '../auth/identity-hash.js';
import type { SessionRevocationPublisher } from '../auth/session-revocation-publisher.js';
import { revokeToken } from '../auth/sessions.store.js';
import { forgetPushToken, forgetPushTokens } from '../devices/devices.store.js';
import type { EventLog } from '../../records/event-log.js';
import type { IntegrationService } from '../../apps/integrations/integrations.service.js';
import type { RuntimeRequests } from '../../records/runtime-requests.js';
import { SCHEDULE_JOB } from '../../records/schedule-job.js';
import { TRIGGER_JOB } from '../../records/trigger-job.js';
import { TURN_JOB } from '../../records/turn-job.js';
import { periodOf } from '../../metering/period.js';
import {
  findUser,
  insertUser,
  setUserEmail,
  setUserAvatar,
  lockOwnedWorkspaces,
  deleteUser,
} from '../../records/users.store.js';
import type { Provision } from '../../workspaces/provision.js';
import { removeMessages } from '../../workspaces/workspaces.store.js';
import {
  wasAccountDeleted,
  renameDeletedIdentity,
  countReturn,
  restoreDeletedIdentity,
  rememberDeletedIdentity,
  addDeletionFeedback,
} from './deleted-accounts.store.js';
import { rejectTokens } from '../../records/users.store.js';

export interface AccountServiceDeps {
  withTransaction: WithTransaction;
  database: Database;
  events: Pick<EventLog, 'lock'>;
  jobs: Pick<JobQueue, 'cancel'>;
  runtimes: Pick<RuntimeRequests, 'requestDeletion'>;
  provision: Provision;
  integrations: Pick<IntegrationService, 'revokeAll'>;
  sessionEnds: SessionRevocationPublisher;
  identityHash: IdentityHash;
  /** Deleted accounts may still be stored under hashes with previous keys. */
  previousIdentityHashes: readonly IdentityHash[];
  /** Maximum sign-ups per identity within a day after its account was deleted; 0 disables the limit. */
  returnsPerDay: number;
  /** Deleting an account requires a provider sign-in of at most this age in seconds; undefined disables the check. */
  deletionMaxAuthAgeS: number | undefined;
  clock: Clock;
}

type AccountAction = 'account.sign_up' | 'account.sign_in' | 'account.logout' | 'account.logout_all' | 'account.delete';

interface ActionContext {
  userId?: string;
  session: Session | undefined;
  db: Database;
}

export interface AccountService {
  wasDeleted(identity: Identity): Promise<boolean>;
  /** @throws ApiError `user_not_found`, `user_deleted`, `user_banned` */
  signIn(identity: Identity, session: Session): Promise<void>;
  /**
   * Creates user, first workspace, agents and swarm conversation, and requests a runtime. Idempotent. If the identity
   * had an account that was deleted, its usage in the current period still counts.
   *
   * @throws ApiError `user_banned`, `sign_up_limit_reached` (not on the bypass, because tests delete many accounts)
   */
  signUp(identity: Identity, session?: Session): Promise<void>;
  /**
   * Revokes the token until it expires, closes its sockets, and removes the device's push token. On the bypass, whose
   * token is shared, all sockets of the user are closed and the token stays valid.
   *
   * @throws ApiError `user_not_found`, `user_deleted`, `user_banned`
   */
  logout(identity: Identity, session: Session): Promise<void>;
  /**
   * Revokes all ID tokens issued to the user until now, closes the user's sockets, and removes all devices' push tokens.
   * API tokens stay valid, and their sockets open.
   * On the bypass, whose token is shared, the token stays valid, as after `logout`.
   *
   * @throws ApiError `user_not_found`, `user_deleted`, `user_banned`
   */
  logoutEverywhere(identity: Identity, session: Session): Promise<void>;
  /** @throws ApiError `user_not_found`, `user_deleted`, `user_banned`, `reauthentication_required` */
  delete(identity: Identity, session: Session, why: { reason: string; description: string }): Promise<void>;
}

const FIRST_WORKSPACE = 'My workspace';

const isBypass = ({ issuer }: Identity): boolean => issuer === 'e2e';

export function createAccountService(deps: AccountServiceDeps): AccountService {
  const { withTransaction, database, jobs, runtimes, clock } = deps;
  const hash = deps.identityHash;
  const previous = (identity: Identity): Buffer[] => deps.previousIdentityHashes.map((each) => each(identity));
  const wasDeleted = (identity: Identity): Promise<boolean> =>
    wasAccountDeleted(database, [hash(identity), ...previous(identity)]);

  /** Records only the source: text from the user must not be linked to the identity hash. */
  const record = (action: AccountAction, identity: Identity, { userId, session, db }: ActionContext): Promise<void> =>
    appendAudit(db, {
      actor: 'user',
      action,
      identityHash: hash(identity),
      ...(userId === undefined ? {} : { userId }),
      details: typeof session?.source === 'string' ? { source: session.source } : {},
    });

  async function requireUser(identity: Identity): Promise<string> {
    const user = await findUser(database, identity);
    if (user === undefined) {
      throw new ApiError((await wasDeleted(identity)) ? 'user_deleted' : 'user_not_found');
    }
    if (user.isBanned) throw new ApiError('user_banned');
    return user.id;
  }

  async function createAccount(identity: Identity, session: Session | undefined, tx: Transaction): Promise<boolean> {
    const userId = randomUUIDv7();
    if (!(await insertUser(tx, { ...identity, id: userId }))) return false;
    await carryOverUsage(identity, userId, tx);
    await record('account.sign_up', identity, { userId, session, db: tx });
    await deps.provision({ userId, name: FIRST_WORKSPACE }, tx);
    return true;
  }

  async function carryOverUsage(identity: Identity, userId: string, tx: Transaction): Promise<void> {
    await renameDeletedIdentity(tx, previous(identity), hash(identity));
    const waitMs = await countReturn(tx, hash(identity), isBypass(identity) ? 0 : deps.returnsPerDay);
    if (waitMs !== undefined) throw new ApiError('sign_up_limit_reached', { extra: { retry_after_ms: waitMs } });
    await restoreDeletedIdentity(tx, hash(identity), userId, periodOf(clock.now()));
  }

  function requireFreshSignIn(identity: Identity): void {
    const { deletionMaxAuthAgeS: maximum } = deps;
    if (maximum === undefined || isBypass(identity)) return;
    const age = clock.now().getTime() - (identity.authenticatedAt?.getTime() ?? -Infinity);
    if (age > maximum * 1000) throw new ApiError('reauthentication_required');
  }

  return {
    wasDeleted,

    async signIn(identity, session) {
      const userId = await requireUser(identity);
      await withTransaction(async (tx) => {
        if (identity.email !== '') await setUserEmail(tx, userId, identity.email);
        if (identity.picture !== undefined) await setUserAvatar(tx, userId, identity.picture);
        await record('account.sign_in', identity, { userId, session, db: tx });
      });
    },

    async signUp(identity, session) {
      const user = await findUser(database, identity);
      if (user?.isBanned === true) throw new ApiError('user_banned');
      if (user !== undefined) return;
      await withTransaction((tx) => createAccount(identity, session, tx));
    },

    async logout(identity, session) {
      const userId = await requireUser(identity);
      const { tokenHash } = session;
      await withTransaction(async (tx) => {
        if (tokenHash !== null && identity.expiresAt !== null) await revokeToken(tx, tokenHash, identity.expiresAt);
        await forgetPushToken(tx, userId, session.device.id);
        await record('account.logout', identity, { userId, session, db: tx });
      });
      deps.sessionEnds.publish(userId, tokenHash, 'logged_out');
    },

    async logoutEverywhere(identity, session) {
      const userId = await requireUser(identity);
      await withTransaction(async (tx) => {
        if (!isBypass(identity)) await rejectTokens(tx, userId, identity.issuedAt);
        await forgetPushTokens(tx, userId);
        await record('account.logout_all', identity, { userId, session, db: tx });
      });
      deps.sessionEnds.publishSignOut(userId);
    },

    async delete(identity, session, why) {
      const userId = await requireUser(identity);
      requireFreshSignIn(identity);
      const period = periodOf(clock.now());
      await withTransaction(async (tx) => {
        const owned = await lockOwnedWorkspaces(tx, userId);
        // Lock leases before rows, like turns and the runtime reconciler. The reverse order can deadlock.
        for (const workspaceId of owned) {
          await jobs.cancel(TURN_JOB, workspaceId, tx);
          await jobs.cancel(SCHEDULE_JOB, workspaceId, tx);
          await jobs.cancel(TRIGGER_JOB, workspaceId, tx);
          await runtimes.requestDeletion(workspaceId, tx);
        }
        await deps.integrations.revokeAll(userId, tx);
        for (const workspaceId of owned) {
          await deps.events.lock(workspaceId, tx);
          await removeMessages(tx, workspaceId);
        }
        await rememberDeletedIdentity(tx, hash(identity), userId, period);
        await deleteUser(tx, userId);
        await record('account.delete', identity, { session, db: tx });
      });
      // First, so that sockets close even if the feedback cannot be stored: the account is deleted.
      deps.sessionEnds.publish(userId, null, 'user_deleted');
      if (why.reason !== '' || why.description !== '') await addDeletionFeedback(database, period, why);
    },
  };
}
