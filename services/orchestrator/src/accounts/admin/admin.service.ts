import {
  type AdminAnswer,
  type AdminBody,
  type AdminCall,
  type AdminUser,
  ApiError,
  type LegalDocumentName,
} from '@uswarm/contract';
import type { Clock } from '@uswarm/service-kit';
import type { WithTransaction, Database } from '../../platform/database/database.js';
import type { SessionRevocationPublisher } from '../auth/session-revocation-publisher.js';
import { listDevices } from '../devices/devices.store.js';
import type { OperatorReview } from '../../apps/tool-servers/operator-review.js';
import type { Epochs } from '../../events/epoch.js';
import { listPublishedVersions, publishDocument } from '../legal/legal.store.js';
import type { Plans } from '../../metering/plans.js';
import { periodOf } from '../../metering/period.js';
import { findUsageOfUser, findUsageOfWorkspace } from '../../metering/usage.store.js';
import { adminUser, adminWorkspace } from './admin-view.js';
import {
  type FoundUser,
  findWorkspacesOf,
  findUsersByText,
  findWorkspaceOfAdmin,
  findAdminTurns,
} from './admin.store.js';
import { appendAudit, listAudit } from '../../records/audit.store.js';
import type { ExportService } from '../exports/exports.service.js';
import type { Requeue } from './requeue.service.js';
import type { TraceTurn } from './turn-trace.js';
import * as users from '../../records/users.store.js';

export interface AdminServiceDeps {
  withTransaction: WithTransaction;
  database: Database;
  plans: Plans;
  sessionEnds: SessionRevocationPublisher;
  requeue: Requeue;
  trace: TraceTurn;
  exports: Pick<ExportService, 'current' | 'get'>;
  epochs: Pick<Epochs, 'bump'>;
  toolReview: OperatorReview;
  clock: Clock;
}

/** Operator actions by call name. Each receives the operator and writes an audit record. */
export type AdminService = {
  [Call in AdminCall]: (actor: string, body: AdminBody<Call>) => Promise<AdminAnswer<Call>>;
};

const invalid = (path: string, message: string): ApiError =>
  new ApiError('validation_failed', { message: `${path} ${message}`, extra: { fields: [{ path, message }] } });

export function createAdminService(deps: AdminServiceDeps): AdminService {
  const { withTransaction, database, plans, clock, sessionEnds } = deps;

  async function describe(user: FoundUser): Promise<AdminUser> {
    const now = clock.now();
    const period = periodOf(now);
    const [usage, workspaces, devices] = await Promise.all([
      findUsageOfUser(deps.database, user.id, period),
      findWorkspacesOf(database, user.id),
      listDevices(deps.database, user.id),
    ]);
    return adminUser({ user, plan: plans.of(user, now).plan, period, usage, workspaces, devices });
  }

  async function setBanned(actor: string, userId: string, banned: boolean, reason: string) {
    const changed = await withTransaction(async (tx) => {
      const result = await users.setBanned(tx, userId, banned);
      if (result === undefined) throw new ApiError('user_not_found');
      const action = banned ? 'user.ban' : 'user.unban';
      await appendAudit(tx, { actor, action, userId, details: { reason, changed: result } });
      return result;
    });
    // Publish even if nothing changed: the first notification may have been lost.
    if (banned) sessionEnds.publish(userId, null, 'user_banned');
    return { changed };
  }

  return {
    async 'user.show'(actor, { user }) {
      const found = await findUsersByText(database, user);
      for (const { id } of found) await appendAudit(database, { actor, action: 'user.show', userId: id });
      return { users: await Promise.all(found.map(describe)) };
    },

    'user.ban': (actor, { user_id, reason }) => setBanned(actor, user_id, true, reason),
    'user.unban': (actor, { user_id, reason }) => setBanned(actor, user_id, false, reason),

    async 'user.plan'(actor, { user_id: userId, plan, expires_at, reason }) {
      if (plans.find(plan) === undefined) throw invalid('plan', `must be one of ${plans.codes.join(', ')}`);
      const expiresAt = expires_at === null ? null : new Date(expires_at);
      if (expiresAt !== null && expiresAt <= clock.now()) throw invalid('expires_at', 'must be in the future');
      const ends = expiresAt?.toISOString() ?? null;
      await withTransaction(async (tx) => {
        if (!(await users.setPlan(tx, userId, plan, expiresAt))) throw new ApiError('user_not_found');
        await appendAudit(tx, { actor, action: 'user.plan', userId, details: { plan, expires_at: ends, reason } });
      });
      return { plan, expires_at: ends };
    },

    async 'user.export'(actor, { user_id: userId, export_id: exportId, reason }) {
      const found = await (exportId === undefined ? deps.exports.current(userId) : deps.exports.get(userId, exportId));
      // Waiting for a link is not recorded, but each start and each link is.
      if (exportId === undefined || found.url !== null) {
        const details = { reason, status: found.status };
        await appendAudit(database, { actor, action: 'user.export', userId, subjectId: found.id, details });
      }
      return { export: found };
    },

    async 'workspace.show'(actor, { workspace_id: id }) {
      const now = clock.now();
      const [workspace, usage] = await Promise.all([
        findWorkspaceOfAdmin(database, id),
        findUsageOfWorkspace(deps.database, id, periodOf(now)),
      ]);
      if (workspace === undefined || usage === undefined) throw new ApiError('workspace_not_found');
      await appendAudit(database, { actor, action: 'workspace.show', userId: workspace.owner_id, subjectId: id });
      return adminWorkspace(workspace, usage, plans.of(usage, now).plan, periodOf(now));
    },

    async 'legal.list'(actor) {
      await appendAudit(database, { actor, action: 'legal.list' });
      const versions = await listPublishedVersions(deps.database);
      return { versions: versions.map(publishedVersion) };
    },

    async 'legal.publish'(actor, document) {
      const { document: name, version } = document;
      return withTransaction(async (tx) => {
        const published = await publishDocument(tx, document);
        if (published === undefined) throw invalid('version', `${version} of this document was published before`);
        await appendAudit(tx, { actor, action: 'legal.publish', details: { document: name, version } });
        return publishedVersion(published);
      });
    },

    async 'turns.list'(actor, { status, workspace_id: workspaceId, older_than_s: olderThanSeconds, limit }) {
      const details = { status, workspace_id: workspaceId };
      await appendAudit(database, { actor, action: 'turns.list', details });
      return { turns: await findAdminTurns(database, { status, workspaceId, olderThanSeconds, limit }) };
    },

    'turns.trace': (actor, { id }) => deps.trace(actor, id),

    'turns.requeue': (actor, { turn_ids, reason }) => deps.requeue(actor, turn_ids, reason),

    async 'tools.list'(actor) {
      await appendAudit(database, { actor, action: 'tools.list' });
      return { tools: await deps.toolReview.list() };
    },

    'tools.accept': async (actor, { server, tools }) => ({
      accepted: await deps.toolReview.accept(actor, server, tools),
    }),

    'epoch.bump': (actor, { reason }) =>
      withTransaction(async (tx) => {
        const epoch = await deps.epochs.bump(tx);
        await appendAudit(tx, { actor, action: 'epoch.bump', details: { epoch, reason } });
        return { epoch };
      }),

    async 'audit.list'(actor, { limit, user_id }) {
      const rows = await listAudit(database, limit, user_id);
      await appendAudit(database, {
        actor,
        action: 'audit.list',
        ...(user_id === undefined ? {} : { userId: user_id }),
      });
      return {
        entries: rows.map(({ identity_hash: hash, ...row }) => ({
          ...row,
          at: row.at.toISOString(),
          identity: hash?.toString('hex') ?? null,
        })),
      };
    },
  };
}

function publishedVersion(row: { document: LegalDocumentName; version: string; published_at: Date }) {
  return { document: row.document, version: row.version, published_at: row.published_at.toISOString() };
}
