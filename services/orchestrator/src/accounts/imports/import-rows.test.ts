import { describe, expect, it } from '@jest/globals';
import type { z } from 'zod';
import { ImportedAgent, ImportedArtifact, ImportedConversation, ImportedMessage } from './import-rows.js';

const LONG = Array(50_000).fill(0);
const card = { type: 'action_card', title: '', description: '', actions: [] };
const field = { name: 'a', label: 'A', type: 'choice', required: false };

describe('a row of a file', () => {
  it.each<[string, z.ZodType, unknown]>([
    ['skills', ImportedAgent, { skills: LONG }],
    ['prompts', ImportedAgent, { prompts: LONG }],
    ['tools', ImportedAgent, { tools: LONG }],
    ['untrusted', ImportedConversation, { untrusted: LONG }],
    ['versions', ImportedArtifact, { versions: LONG }],
    ['mentions', ImportedMessage, { mentions: LONG }],
    ['attachments', ImportedMessage, { attachments: LONG }],
    ['content', ImportedMessage, { content: { ...card, actions: LONG } }],
    ['content', ImportedMessage, { content: { ...card, form: LONG } }],
    ['content', ImportedMessage, { content: { ...card, form: [{ ...field, options: LONG }] } }],
    ['content', ImportedMessage, { content: { type: 'workflow', steps: LONG } }],
  ])('is refused with a long list in %s, without an error per element', (name, schema, row) => {
    const issues = schema.safeParse(row).error?.issues ?? [];
    expect(issues.filter(({ path }) => path[0] === name)).toHaveLength(1);
  });
});
