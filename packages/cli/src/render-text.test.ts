import { describe, expect, it } from '@jest/globals';
import type { AgentData, MessageData, MessageContent } from '@uswarm/contract';
import { at, conversationId, envelope, id, message, messageId, textContent, workspace } from '../test/script.js';
import {
  chunk,
  created,
  ended,
  loading,
  manager,
  researcher,
  shownOn,
  status,
  tool,
  transcript,
  turn,
  updated,
  writer,
} from '../test/transcript.js';
import type { Renderer } from './renderer.js';

describe('the contents of a transcript', () => {
  const delegation = (
    from: AgentData,
    to: AgentData,
    value: 'running' | 'completed' | 'failed',
    task = 'Find tea',
  ): MessageContent => ({
    type: 'delegation',
    from,
    to,
    status: value,
    task_preview: task,
  });

  it('shows tool calls without a query by their description, and why they failed', () => {
    const call = (state: string, description: string) =>
      ({ type: 'tool_status', tool: 'remember', description, state: state as 'running' }) as const;
    const text = transcript(
      turn(
        tool({ tool: 'remember' }),
        created(30, call('running', 'Remembering “tea”')),
        updated(30, call('failed', 'No\nspace\u0007')),
        tool({ tool: 'remember', status: 'done', outcome: 'failed' }),
      ),
    );
    expect(text).toBe('· Manager uses remember: Remembering “tea”\n· remember failed: No space\n');
  });

  it('shows the transcript of a voice message as soon as it is known', () => {
    const file = {
      id: id(90),
      url: '/f',
      type: 'audio',
      name: 'voice\n.m4a',
      size: 1,
      mime_type: 'audio/mp4',
      duration: 2,
    } as const;
    const spoken = (rev: number, words: string | null) =>
      ({
        role: 'user',
        agent: null,
        local_id: null,
        rev,
        attachments: [{ ...file, transcript: words }],
      }) satisfies object;
    const play = turn(
      created(30, textContent(''), { ...spoken(1, null), role: 'user' }),
      updated(30, textContent(''), { ...spoken(2, 'Buy tea.\nAnd\u0007 bread.'), role: 'user' }),
    );
    expect(transcript(play)).toBe('you: \n♪ “voice .m4a”: Buy tea.\n  And bread.\n');
  });

  it('shows a suspended runtime as one line of the workspace, and none for each agent', () => {
    const shows = (value: Parameters<typeof workspace>[0], phase: Parameters<typeof workspace>[1]) =>
      ({ name: 'workspace.updated', payload: { ...envelope, workspace: workspace(value, phase) } }) as const;
    const everyone = (value: Parameters<typeof status>[0]) =>
      [manager, researcher].map(({ id: agentId }) => status(value, agentId));
    const text = transcript(
      turn(
        ...everyone('offline'),
        shows('provisioning', 'Progressing'),
        ...everyone('pending'),
        shows('provisioning', 'Progressing'),
        shows('ready', 'Ready'),
        ...everyone('online'),
        status('reading'),
        status('online'),
      ),
    );
    expect(text).toBe(
      '· workspace: provisioning (Progressing)\n· workspace: ready (Ready)\n· Manager is reading\n· Manager is online\n',
    );
  });

  it('shows a system note', () => {
    const note = created(30, { type: 'system', text: 'The limit\nis reached.' }, { role: 'system', agent: null });
    expect(transcript(turn(note))).toBe('· The limit is reached.\n');
  });

  it('shows each version and status of an artifact once', () => {
    const version = (number: number, value: string) =>
      ({
        type: 'artifact',
        artifact_id: 'a',
        title: 'Tea\nparty',
        version: number,
        status: value as 'draft',
        agent_slug: 'writer',
        content_preview: '# Tea',
      }) as const;
    const text = transcript(
      turn(
        created(30, version(1, 'draft')),
        updated(30, version(2, 'draft')),
        updated(30, version(2, 'draft')),
        updated(30, version(2, 'final')),
      ),
    );
    expect(text).toBe(
      '■ Artifact “Tea party”, version 1, draft, by @writer. Open it: /open 1\n' +
        '■ Artifact “Tea party”, version 2, draft, by @writer. Open it: /open 1\n' +
        '■ Artifact “Tea party”, version 2, final, by @writer. Open it: /open 1\n',
    );
  });

  const card = (selected: string | null): MessageContent => ({
    type: 'action_card',
    title: 'Which\u202eone?',
    description: 'Both\nare fine.\u001b[2J',
    actions: [
      { id: 'a', label: 'The first', style: 'primary' },
      { id: 'b', label: 'The\nsecond', style: 'destructive' },
    ],
    selected_action_id: selected,
  });

  it('numbers the actions of cards, and shows a choice made elsewhere once', () => {
    const choice = created(40, textContent('The first'), { role: 'user', agent: null, local_id: null });
    const text = transcript(turn(created(30, card(null)), created(31, card(null)), updated(30, card('a')), choice));
    expect(text).toBe(
      '? Whichone?\n  Both\n  are fine.[2J\n  [1] The first\n  [2] The second\n' +
        '? Whichone?\n  Both\n  are fine.[2J\n  [3] The first\n  [4] The second\n' +
        '✓ Whichone? You chose: The first\n',
    );
  });

  it('leaves the answer to a question of an app to the page', () => {
    const fields = [{ name: 'guest', label: 'Guest', type: 'text', required: true } as const];
    const actions = [
      { id: 'submit', label: 'Send', style: 'primary' } as const,
      { id: 'decline', label: 'Decline', style: 'secondary' } as const,
    ];
    const text = transcript(turn(created(30, { ...card(null), actions, form: fields } as MessageContent)));
    expect(text).toBe('? Whichone?\n  Both\n  are fine.[2J\n  Answer it on the page or in an app.\n');
  });

  it('shows that a card can no longer be chosen', () => {
    const text = transcript(turn(created(30, card(null)), updated(30, card(null), { status: 'failed' })));
    expect(text.split('\n').at(-2)).toBe('✗ Whichone? This card can no longer be chosen.');
  });

  it('shows each change of nested delegations as a line, and hides the activity of sub-agents', () => {
    const text = transcript(
      turn(
        created(30, delegation(manager, researcher, 'running')),
        status('thinking', researcher.id),
        created(31, delegation(researcher, writer, 'running', 'Write\u0007 it')),
        updated(31, delegation(researcher, writer, 'failed', 'Write it')),
        updated(30, delegation(manager, researcher, 'completed')),
        updated(30, delegation(manager, researcher, 'completed')),
        created(32, delegation(researcher, writer, 'running', 'Again')),
      ),
    );
    expect(text).toBe(
      '▸ Manager → Researcher (running): Find tea\n' +
        '  ▸ Researcher → Writer (running): Write it\n' +
        '  ✗ Researcher → Writer (failed): Write it\n' +
        '✓ Manager → Researcher (completed): Find tea\n' +
        '▸ Researcher → Writer (running): Again\n',
    );
  });

  const events = [
    created(30, delegation(manager, researcher, 'running')),
    created(31, delegation(manager, writer, 'running', 'x'.repeat(100))),
    created(32, delegation(researcher, writer, 'running', 'Write it')),
    updated(32, delegation(researcher, writer, 'completed', 'Write it')),
    updated(30, delegation(manager, researcher, 'completed')),
  ];

  it('updates delegations in place on a terminal, cut at its width', () => {
    const shown = shownOn(transcript(turn(...events), { columns: 40 }));
    expect(shown).toEqual([
      '✓ Manager → Researcher (completed): Fi…',
      '  ✓ Researcher → Writer (completed): W…',
      '▸ Manager → Writer (running): xxxxxxxx…',
    ]);
  });

  it('keeps other lines above those that are updated, and leaves the last state', () => {
    const last = updated(31, delegation(manager, writer, 'failed', 'y'));
    const note = created(40, { type: 'system', text: 'A note' }, { role: 'system', agent: null });
    const output = transcript(
      (renderer) => {
        turn(loading, ...events, note, last, chunk('Done', 1), ...ended('Done.', 'delivered'))(renderer);
        renderer.settled('delivered');
      },
      { columns: 80 },
    );
    expect(shownOn(output)).toEqual([
      '· A note',
      '✓ Manager → Researcher (completed): Find tea',
      '  ✓ Researcher → Writer (completed): Write it',
      '✗ Manager → Writer (failed): y',
      'Manager: Done.',
    ]);
  });

  const workflow = (value: string, ...steps: string[]): MessageContent => ({
    type: 'workflow',
    workflow_id: 'w',
    workflow_name: 'Tea\u009b report',
    execution_id: 'e',
    status: value as 'running',
    steps: steps.map((step, index) => ({
      step_id: String(index),
      name: `Step ${index + 1}`,
      status: step as 'running',
      agent_slug: 'writer',
      started_at: null,
      finished_at: step === 'completed' ? at : null,
    })),
  });
  const steps = [
    created(30, workflow('running', 'running', 'pending')),
    updated(30, workflow('running', 'completed', 'running')),
    updated(30, workflow('failed', 'completed', 'failed')),
  ];

  it('shows a workflow, then each change of a step', () => {
    expect(
      transcript(turn(...steps))
        .trimEnd()
        .split('\n'),
    ).toEqual([
      '▸ Workflow “Tea report” (running)',
      '  ▸ Step 1 (@writer, running)',
      '  ○ Step 2 (@writer, pending)',
      '  ✓ Step 1 (@writer, completed)',
      '  ▸ Step 2 (@writer, running)',
      '  ✗ Step 2 (@writer, failed)',
      '✗ Workflow “Tea report” (failed)',
    ]);
  });

  it('updates a workflow in place on a terminal', () => {
    expect(shownOn(transcript(turn(...steps), { columns: 80 }))).toEqual([
      '✗ Workflow “Tea report” (failed)',
      '  ✓ Step 1 (@writer, completed)',
      '  ✗ Step 2 (@writer, failed)',
    ]);
  });

  it('leaves what still runs when the turn ends, and shows later changes as lines', () => {
    const output = transcript(
      (renderer) => {
        turn(...steps.slice(0, 1))(renderer);
        renderer.settled('delivered');
        for (const one of steps.slice(1)) renderer.event(one);
      },
      { columns: 80 },
    );
    expect(shownOn(output)).toEqual([
      '▸ Workflow “Tea report” (running)',
      '  ▸ Step 1 (@writer, running)',
      '  ○ Step 2 (@writer, pending)',
      '  ✓ Step 1 (@writer, completed)',
      '  ▸ Step 2 (@writer, running)',
      '  ✗ Step 2 (@writer, failed)',
      '✗ Workflow “Tea report” (failed)',
    ]);
  });

  it('shows earlier messages by position, independent of the order of the list', () => {
    const all = { extended_status: 'delivered', status: 'delivered' } as const;
    const earlier: MessageData[] = [
      message({ ...all, id: id(5), position: '2b', content: textContent('The moon.') }),
      message({
        ...all,
        id: id(4),
        position: '2a3',
        content: { type: 'tool_status', tool: 'web_search_tool', description: 'tides', state: 'completed' },
      }),
      message({ ...all, id: id(3), position: '1b', role: 'user', agent: null, content: textContent('Why?') }),
      message({ ...all, id: id(7), position: '2a5', content: delegation(researcher, writer, 'completed') }),
      message({ ...all, id: id(6), position: '2a4', content: delegation(manager, researcher, 'completed') }),
      message({ ...all, id: id(8), position: '3b', content: workflow('completed', 'completed') }),
      message({ ...all, id: id(9), position: '4b', content: card('b') }),
      message({ id: id(10), position: '5b', content: { type: 'loading' } }),
    ];
    expect(transcript((renderer) => renderer.history(conversationId, earlier))).toBe(
      'you: Why?\n· web_search_tool completed: tides\n✓ Manager → Researcher (completed): Find tea\n' +
        '  ✓ Researcher → Writer (completed): Find tea\nManager: The moon.\n' +
        '✓ Workflow “Tea report” (completed)\n  ✓ Step 1 (@writer, completed)\n' +
        '✓ Whichone? You chose: The second\n',
    );
  });

  it('shows delegations and workflows that end in one chat only once, if a later chat continues', () => {
    const all = { extended_status: 'delivered', status: 'delivered' } as const;
    const content = [
      textContent('Why?'),
      delegation(manager, researcher, 'completed'),
      workflow('completed', 'completed'),
      delegation(manager, writer, 'running'),
    ] as const;
    const [asked, ...produced] = content;
    const listed: MessageData[] = [
      message({ ...all, id: messageId, role: 'user', agent: null, content: asked, local_id: 'l' }),
      ...produced.map((each, index) => message({ ...all, id: id(30 + index), content: each })),
    ];
    let printed: ReturnType<Renderer['printed']> | undefined;
    transcript((renderer) => {
      turn(...produced.map((each, index) => created(30 + index, each)))(renderer);
      printed = renderer.printed();
    });
    const continued = transcript((renderer) => {
      renderer.history(conversationId, []);
      renderer.resume('l', printed!);
      renderer.messages(listed, messageId);
    });
    expect(continued).toBe('▸ Manager → Writer (running): Find tea\n');
  });

  it('calls an agent silent in the history only if it has shown nothing else', () => {
    const silent = { content: textContent(''), extended_status: 'silent', status: 'delivered' } as const;
    const user = { role: 'user', agent: null, extended_status: 'delivered', content: textContent('Why?') } as const;
    const task = { content: delegation(manager, researcher, 'completed'), extended_status: 'delivered' } as const;
    const earlier: MessageData[] = [
      message({ ...user, id: id(3), position: '1' }),
      message({ ...silent, id: id(4), position: '2' }),
      message({ ...task, id: id(5), position: '3' }),
      message({ ...user, id: id(6), position: '4' }),
      message({ ...silent, id: id(7), position: '5' }),
    ];
    expect(transcript((renderer) => renderer.history(conversationId, earlier))).toBe(
      'you: Why?\n✓ Manager → Researcher (completed): Find tea\nyou: Why?\n· Manager stays silent\n',
    );
  });

  it('shows what was missed during a disconnect, and nothing from before the turn', () => {
    const all = { extended_status: 'delivered', status: 'delivered' } as const;
    const listedMessages: MessageData[] = [
      message({ ...all, id: id(12), content: textContent('Because.') }),
      message({ ...all, id: id(11), content: { type: 'system', text: 'A note' }, role: 'system', agent: null }),
      message({ ...all, id: messageId, role: 'user', agent: null, content: textContent('Why?'), local_id: 'l' }),
      message({ ...all, id: id(5), content: textContent('An older answer.') }),
    ];
    const text = transcript((renderer) => {
      turn()(renderer);
      renderer.messages(listedMessages, messageId);
      renderer.messages(listedMessages, messageId);
    });
    expect(text).toBe('· A note\nManager: Because.\n');
  });

  it('uses colours only if they are enabled', () => {
    const play = (renderer: Renderer) => renderer.note('hello');
    expect(transcript(play)).toBe('· hello\n');
    expect(transcript(play, { colour: true })).toBe('\u001b[2m· hello\u001b[22m\n');
  });
});
