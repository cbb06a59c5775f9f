import { answer, call, type DemoCall, type DemoMove, failure, LABEL, type Scene } from './demo-scene.js';
import type { Colleague, Situation } from './demo-situation.js';

const DELEGATE = 'delegate';
const HAND_OVER = 'hand_over';
const START_WORKFLOW = 'start_workflow';

const NO_COLLEAGUE = 'This agent has no colleague, so it works alone.';

const MAX_TASKS = 5;
const NUMBERS = ['', 'one', 'two', 'three', 'four', 'five'];
const TASKS = [
  'Name one fact about green tea.',
  'Compare green tea with black tea.',
  'Write a headline about tea.',
  'Count the cups of a tea party for six.',
  'Check the facts about tea.',
];

const specialists = ({ colleagues }: Situation): readonly Colleague[] => {
  const others = colleagues.filter(({ isManager }) => !isManager);
  return others.length === 0 ? colleagues : others;
};

const namesOf = ({ slug, name }: Colleague): string[] => [`@${slug}`, slug, name].map((one) => one.toLowerCase());

/** Colleagues that a text names, in text order. */
function namedIn(text: string, colleagues: readonly Colleague[]): Colleague[] {
  const words = text.toLowerCase().match(/@?[\w-]+/g) ?? [];
  const named = words.flatMap((word) => colleagues.find((colleague) => namesOf(colleague).includes(word)) ?? []);
  return [...new Set(named)];
}

/** The number in a text such as "three agents". */
function countIn(text: string): number {
  const word = /\b(one|two|three|four|five|\d+)\b/i.exec(text)?.[1]?.toLowerCase() ?? 'one';
  const count = NUMBERS.includes(word) ? NUMBERS.indexOf(word) : Number(word);
  return Math.min(Math.max(count, 1), MAX_TASKS);
}

const delegated = ({ slug }: Colleague, task: string): DemoCall => ({
  tool: DELEGATE,
  input: { agent: slug, task, expected: 'One or two sentences.' },
});

/** The calls for a request such as "delegate to @writer: write a headline" or "show me a nested delegation". */
function delegations(words: string, agents: readonly Colleague[]): DemoCall[] {
  const [, head = '', task] = /^([^:]*)(?::\s*([\s\S]+))?$/.exec(words) ?? [];
  const named = namedIn(head, agents);
  const chosen = named.length > 0 ? named : agents;
  const at = (index: number): Colleague[] => chosen.slice(index % chosen.length).slice(0, 1);
  if (/\bnested\b/i.test(head)) {
    const other = agents.find(({ slug }) => slug !== at(0)[0]?.slug);
    const inner = other === undefined ? TASKS[0] : `Delegate to @${other.slug}: ${TASKS[0]}`;
    return at(0).map((agent) => delegated(agent, inner ?? ''));
  }
  if (/\bfail(?:ed|ing)?\b/i.test(head)) return at(0).map((agent) => delegated(agent, 'Show me a refusal.'));
  const count = named.length > 1 ? named.length : countIn(head);
  return Array.from({ length: count }, (_, index) =>
    at(index).map((agent) => delegated(agent, task ?? TASKS[index % TASKS.length] ?? '')),
  ).flat();
}

const delegation = (request: string, shows: string, words: RegExp): Scene => ({
  request,
  shows,
  words,
  tools: [DELEGATE],
  play(situation) {
    const { results } = situation;
    const calls = delegations(situation.words, specialists(situation));
    if (calls.length === 0) return answer(NO_COLLEAGUE);
    if (results.length === 0) return { calls };
    const lines = results.map(({ text, failed }, index) => {
      const agent = String(calls[index]?.input['agent'] ?? 'agent');
      return `- @${agent} ${failed ? 'failed' : 'reports'}: ${text.replaceAll(/\s+/g, ' ').trim()}`;
    });
    return answer(`The results of my ${results.length === 1 ? 'delegation' : 'delegations'}:\n\n${lines.join('\n')}`);
  },
});

const step = (id: string, name: string, agent: string, task: string, after: string[] = []) => ({
  id,
  name,
  agent,
  task,
  after,
});

/** A plan with two parallel steps in the middle. */
function planOf(agents: readonly Colleague[], kind: string): Record<string, unknown> {
  const slugOf = (index: number): string => agents.slice(index % agents.length)[0]?.slug ?? '';
  const middle =
    { failing: 'Show me a refusal.', asking: 'Show me an approval.' }[kind] ?? 'Compare green tea with black tea.';
  const steps = [
    step('collect', 'Collect sources', slugOf(0), 'Name one fact about green tea.'),
    step('compare', 'Compare the sources', slugOf(1), middle, ['collect']),
    step('draft', 'Write a draft', slugOf(2), 'Write a headline about tea.', ['collect']),
    step('check', 'Check the draft', slugOf(3), 'Check the facts about tea.', ['compare', 'draft']),
  ];
  return { name: `${LABEL} Tea report`, steps };
}

const workflow = (request: string, shows: string, words: RegExp, kind: string): Scene => ({
  request,
  shows,
  words,
  tools: [START_WORKFLOW],
  play(situation) {
    const [result] = situation.results;
    const agents = specialists(situation);
    if (agents.length === 0) return answer(NO_COLLEAGUE);
    if (result === undefined) return call(START_WORKFLOW, planOf(agents, kind));
    return result.failed ? failure(result) : answer('The workflow has started. Its message shows the progress.');
  },
});

/** Answer from the agent that took over. */
function takeOver({ followsAgent, self }: Situation, to = ''): DemoMove | undefined {
  const ownName = new RegExp(`(?:^|\\W)${self}$`, 'i');
  return followsAgent || (self !== '' && ownName.test(to))
    ? answer('I have taken over and reply from here.')
    : undefined;
}

function handOver(situation: Situation, to = ''): DemoMove {
  const { colleagues, results } = situation;
  const [result] = results;
  if (result !== undefined) return result.failed ? failure(result) : answer('The conversation is handed over.');
  const taken = takeOver(situation, to);
  if (taken !== undefined) return taken;
  const [target] = [...namedIn(to, colleagues), ...specialists(situation)];
  if (target === undefined) return answer(NO_COLLEAGUE);
  return {
    text: `${LABEL} I hand over to ${target.name}.`,
    calls: [{ tool: HAND_OVER, input: { agent: target.slug } }],
  };
}

/** Scenes with several agents. */
export const AGENT_SCENES: readonly Scene[] = [
  delegation(
    'delegate to three agents',
    'delegations that run in parallel; up to five',
    /^delegate\b|^(?:show|give) (?:me )?(?:two|three|four|five|[2-5]|some|parallel) delegations$/i,
  ),
  delegation('show me a delegation', 'one delegation and its result', /^(?:show|give) (?:me )?a delegation$/i),
  delegation(
    'show me a nested delegation',
    'an agent that delegates its task',
    /^(?:show|give) (?:me )?a nested delegation$/i,
  ),
  delegation(
    'show me a failed delegation',
    'a delegation that fails',
    /^(?:show|give) (?:me )?a fail(?:ed|ing) delegation$/i,
  ),
  {
    request: 'hand over to researcher',
    shows: 'a reply that ends delegated, and the reply of the other agent',
    words: /^(?:hand (?:it |this )?over(?: it| this)?(?: to (.+))?|(?:show|give) (?:me )?a hand-?over)$/i,
    tools: [HAND_OVER],
    play: (situation, [, to]) => handOver(situation, to),
    without: (situation, [, to]) => takeOver(situation, to),
  },
  workflow(
    'show me a workflow',
    'a workflow with four steps, two of them in parallel',
    /^(?:show|give|start|run) (?:me )?a workflow$/i,
    '',
  ),
  workflow(
    'show me a failed workflow',
    'a workflow with a step that fails',
    /^(?:show|give|start|run) (?:me )?a fail(?:ed|ing) workflow$/i,
    'failing',
  ),
  workflow(
    'show me a workflow with an approval',
    'a workflow with a step that asks for an approval',
    /^(?:show|give|start|run) (?:me )?a workflow (?:with an|that needs) approval$/i,
    'asking',
  ),
];
