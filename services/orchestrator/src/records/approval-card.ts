import { createHash } from 'node:crypto';
import type { AgentTool } from '@uswarm/contract';
import { canonicalJson } from '@uswarm/service-kit';
import type { OfferedContent } from '../turns/content/agent-content-schema.js';
import type { CallPreview } from '../turns/tools/platform-tool.js';
import { visibleText } from './visible-text.js';

export const APPROVE_ACTION = 'approve';
const DENY_ACTION = 'deny';

/** The value comes from a model or a third party. Its lines are indented, so that none looks like another change. */
export const quoted = (value: string): string => `“${value.replaceAll('\n', '\n  ')}”`;

export type OfferedCard = OfferedContent & { type: 'action_card' };

export interface AskedTool {
  tool: string;
  permission: Exclude<AgentTool['permission'], 'deny'>;
}

/**
 * Shows what a call will change, with old and new values in full. Pure.
 *
 * @param because why a call asks that usually does not
 */
export function approvalCard({ title, changes }: CallPreview, approval: AskedTool, because?: string): OfferedCard {
  const lines = changes.map(({ label, before, after }) =>
    before === undefined ? `${label}: ${quoted(after)}` : `${label}: ${quoted(before)} → ${quoted(after)}`,
  );
  return {
    type: 'action_card',
    title: visibleText(`Approve? ${title}`),
    description: visibleText([...(because === undefined ? [] : [because]), ...lines].join('\n')),
    actions: [
      { id: APPROVE_ACTION, label: 'Approve', style: 'primary' },
      { id: DENY_ACTION, label: 'Deny', style: 'secondary' },
    ],
    selected_action_id: null,
    approval,
  };
}

/** SHA-256 over a call: an approval is valid only for this tool with these arguments. */
export const callHash = (tool: string, input: unknown): Buffer =>
  createHash('sha256')
    .update(canonicalJson([tool, input]))
    .digest();
