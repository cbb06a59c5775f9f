import { describe, expect, it } from '@jest/globals';
import type { MessageContent } from '@uswarm/contract';
import { previewText } from './workspace-view.js';

describe('the preview of a message', () => {
  it.each<[MessageContent, string]>([
    [{ type: 'text', text: '  two\n\tlines ' }, 'two lines'],
    [{ type: 'text', text: 'x'.repeat(500) }, 'x'.repeat(200)],
    [{ type: 'system', text: 'a\nnote' }, 'a note'],
    [{ type: 'action_card', title: 'Choose', description: 'd', actions: [] }, 'Choose'],
    [{ type: 'tool_status', tool: 't', description: 'Searching', state: 'running' }, 'Searching'],
    [{ type: 'delegation', status: 'running', task_preview: 'Find it' }, 'Find it'],
    [
      {
        type: 'artifact',
        artifact_id: 'a',
        title: 'Report',
        version: 1,
        status: 'draft',
        agent_slug: 's',
        content_preview: '',
      },
      'Report',
    ],
    [
      { type: 'workflow', workflow_id: 'w', workflow_name: 'Weekly', execution_id: 'e', status: 'running', steps: [] },
      'Weekly',
    ],
    [{ type: 'loading' }, ''],
  ])('is a single line: %j', (content, text) => {
    expect(previewText(content)).toBe(text);
  });

  it('does not end within a character', () => {
    expect(previewText({ type: 'text', text: `${'x'.repeat(199)}👩 and more` }).isWellFormed()).toBe(true);
  });
});
