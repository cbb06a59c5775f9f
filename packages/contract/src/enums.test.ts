import { describe, expect, it } from '@jest/globals';
import type { z } from 'zod';
import * as enums from './enums.js';
import { SERVER_EVENTS } from './events/server.js';
import { AgentDetails, AgentSummary } from './resources/agent.js';
import { MessageContent, MessageData } from './resources/message.js';

interface EnumSchema {
  options: readonly string[];
}

/** Requirement id, name, schema, and specified values. */
const TABLE: [string, string, EnumSchema, string][] = [
  ['ENUM-001', 'RuntimeStatus', enums.RuntimeStatus, 'provisioning, ready, offline, failed'],
  ['ENUM-002', 'RuntimePhase', enums.RuntimePhase, 'Pending, Progressing, Ready, Error'],
  ['ENUM-003', 'AgentStatus', enums.AgentStatus, 'online, reading, thinking, writing, pending, error, offline'],
  ['ENUM-004', 'the status of agent routes', enums.AgentRouteStatus, 'online, busy, pending, error, offline'],
  ['ENUM-005', 'AgentModel', enums.AgentModel, 'flash, sonnet, opus'],
  ['ENUM-006', 'ResponseLength', enums.ResponseLength, 'auto, short, medium, long'],
  ['ENUM-007', 'ConversationType', enums.ConversationType, 'swarm, agent'],
  ['ENUM-008', 'MessageRole', enums.MessageRole, 'user, agent, system'],
  [
    'ENUM-009',
    'MessageStatus',
    enums.MessageStatus,
    'pending, sent, delivered, read, failed, incomplete, silent, delegated',
  ],
  [
    'ENUM-010',
    'MessageContentType',
    enums.MessageContentType,
    'text, action_card, tool_status, system, loading, delegation, artifact, workflow',
  ],
  ['ENUM-011', 'AgentRole', enums.AgentRole, 'manager, sub-agent'],
  ['ENUM-012', 'DelegationStatus', enums.DelegationStatus, 'running, completed, failed'],
  ['ENUM-013', 'AttachmentType', enums.AttachmentType, 'image, video, audio, file'],
  ['ENUM-014', 'ActionStyle', enums.ActionStyle, 'primary, secondary, destructive'],
  ['ENUM-015', 'ToolState', enums.ToolState, 'running, completed, failed'],
  ['ENUM-016', 'IntegrationItemType', enums.IntegrationItemType, 'tool, app'],
  [
    'ENUM-017',
    'IntegrationProvider',
    enums.IntegrationProvider,
    'google_calendar, gmail, slack, jira, notion, asana, github, zoom',
  ],
  [
    'ENUM-018',
    'the agent skill',
    enums.AgentSkill,
    'web_search, analysis, fact_check, news, sources, coding, writing, translation, summarization, planning',
  ],
];

describe('enumerations', () => {
  it.each(TABLE)('%s %s has exactly the documented values', (_row, _name, schema, documented) => {
    expect(schema.options).toEqual(documented.split(', '));
  });

  it('has one kind of message content for each MessageContentType', () => {
    const kinds = MessageContent.options.map((kind) => kind.shape.type.value);
    expect(kinds.toSorted()).toEqual(enums.MessageContentType.options.toSorted());
  });

  it('ENUM-019 limits the status of messages to pending, delivered and failed, beside the exact one', () => {
    const { status: shown, extended_status: exact } = MessageData.shape;
    expect(shown.options).toEqual(['pending', 'delivered', 'failed']);
    for (const status of enums.MessageStatus.options) {
      expect(accepts(shown, status)).toBe((shown.options as string[]).includes(status));
      expect(accepts(exact, status)).toBe(true);
    }
  });

  it('ENUM-020 returns busy on agent routes, but reading, thinking and writing in the realtime event', () => {
    const live = SERVER_EVENTS['agent.status'].payload.shape.status;
    for (const route of [AgentSummary.shape.status, AgentDetails.shape.status]) {
      expect(accepts(route, 'busy')).toBe(true);
      for (const status of ['reading', 'thinking', 'writing']) expect(accepts(route, status)).toBe(false);
    }
    expect(accepts(live, 'busy')).toBe(false);
    for (const status of ['reading', 'thinking', 'writing']) expect(accepts(live, status)).toBe(true);
  });
});

function accepts(schema: z.ZodType, value: string): boolean {
  return schema.safeParse(value).success;
}
