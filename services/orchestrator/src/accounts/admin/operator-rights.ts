import type { AdminCall } from '@uswarm/contract';

export const ADMIN_RIGHTS = ['show', 'audit', 'ban', 'plan', 'legal', 'requeue', 'epoch', 'tools', 'export'] as const;
export type AdminRight = (typeof ADMIN_RIGHTS)[number];

export const RIGHT_OF: Record<AdminCall, AdminRight> = {
  'user.show': 'show',
  'workspace.show': 'show',
  'turns.list': 'show',
  'turns.trace': 'show',
  'legal.list': 'show',
  'audit.list': 'audit',
  'user.ban': 'ban',
  'user.unban': 'ban',
  'user.plan': 'plan',
  'user.export': 'export',
  'legal.publish': 'legal',
  'turns.requeue': 'requeue',
  'epoch.bump': 'epoch',
  'tools.list': 'tools',
  'tools.accept': 'tools',
};

/** An operator as the audit log names it. */
export interface Operator {
  actor: string;
  rights: readonly AdminRight[];
}
