import { AgentModel, ResponseLength } from '@uswarm/contract';
import { z } from 'zod';

export const CATEGORIES = [
  'tools',
  'delegation',
  'own-agents',
  'memory',
  'artifacts',
  'workflows',
  'approval',
  'limits-and-stop',
  'steering',
  'follow-ups',
  'files',
  'pages',
  'past',
  'injection',
] as const;
export type Category = (typeof CATEGORIES)[number];

/** Tools that a product version may lack; the names are entries in the tool catalogue. */
const Slug = z.string().regex(/^[a-z0-9]+(?:-[a-z0-9]+)*$/, 'must be lower-case words with hyphens');
const Agent = Slug.describe('The slug of an agent.');

/** Text rule. A string is contained, `/…/` is a regular expression; both ignore case. */
export type TextRule = string | TextRule[] | { any: TextRule[] } | { not: TextRule };
const Text: z.ZodType<TextRule> = z.lazy(() =>
  z.union(
    [
      z.string().min(1).refine(isRegExp, 'is not a valid regular expression'),
      z.array(Text).min(1),
      z.strictObject({ any: z.array(Text).min(1) }),
      z.strictObject({ not: Text }),
    ],
    'must be a text, a list of rules, {any: […]} or {not: …}',
  ),
);

function isRegExp(text: string): boolean {
  const source = /^\/(.*)\/$/s.exec(text)?.[1];
  if (source === undefined) return true;
  try {
    return new RegExp(source, 'is') instanceof RegExp;
  } catch {
    return false;
  }
}

const Event = z.strictObject({
  title: z.string(),
  start: z.string(),
  end: z.string(),
  location: z.string().optional(),
  description: z.string().optional(),
  attendees: z.array(z.email()).optional(),
});
export type WorldEvent = z.output<typeof Event>;

const Mail = z.strictObject({ from: z.string(), subject: z.string(), body: z.string() });

const Page = z.strictObject({ title: z.string(), url: z.url(), text: z.string() });
export type WorldPage = z.output<typeof Page>;

/** Numbered parts, for texts that are too long to write. `{n}` is the number. */
const Parts = z.strictObject({
  before: z.string().optional(),
  count: z.int().min(1).max(2_000),
  each: z.string(),
  at: z.record(z.string().regex(/^\d+$/), z.string()).default({}).describe('Other parts, by number.'),
});
const text = { text: z.string().optional(), parts: Parts.optional() };
export type WorldText = { [Name in keyof typeof text]?: z.output<(typeof text)[Name]> };

const WebPage = z.strictObject({
  url: z.url(),
  title: z.string().default(''),
  ...text,
  html: z.string().optional().describe('What is in the body, for tables and links.'),
  status: z.int().min(200).max(599).default(200),
  redirect: z.url().optional(),
});
export type WorldWebPage = z.output<typeof WebPage>;

const File = z
  .strictObject({
    name: z.string().min(1),
    ...text,
    as: z.enum(['docx', 'xlsx', 'pdf']).optional().describe('Writes the text as this type; a part is a page.'),
    base64: z.string().optional(),
  })
  .refine((file) => [file.text, file.parts, file.base64].filter((one) => one !== undefined).length === 1, {
    error: 'needs one of text, parts and base64',
  });
export type WorldFile = z.output<typeof File>;

const History = z
  .strictObject({
    conversation: z.string().optional().describe('The title of another conversation. Default: the first one.'),
    user: z.string().optional(),
    agent: z.string().default('All right.').describe("The manager's reply."),
    small_talk: z.int().min(1).max(1_000).optional().describe('Exchanges without a fact.'),
  })
  .refine(({ user, small_talk: talk }) => (user === undefined) !== (talk === undefined), {
    error: 'needs either user or small_talk',
  });
export type WorldHistory = z.output<typeof History>;

const MemoryScope = z.enum(['agent', 'workspace']);
const Memory = z.strictObject({
  agent: Agent.default('manager'),
  key: z.string(),
  content: z.string(),
  category: z.string().default('core'),
  scope: MemoryScope.optional().describe('Default: as the product decides.'),
});

/** An object whose only key among these selects its schema, so that messages name the field and not all alternatives. */
function oneOf<Options extends Record<string, z.ZodType>>(options: Options) {
  const names = Object.keys(options);
  return z.unknown().transform((value, context): z.output<Options[keyof Options]> => {
    const found = typeof value === 'object' && value !== null ? names.filter((name) => name in value) : [];
    const schema = found.length === 1 ? options[found[0] as keyof Options] : undefined;
    if (schema === undefined) {
      context.addIssue({ code: 'custom', message: `must have one of ${names.join(', ')}` });
      return z.NEVER;
    }
    const { data, error } = schema.safeParse(value);
    for (const { message, path } of error?.issues ?? []) context.addIssue({ code: 'custom', message, path: [...path] });
    return data as z.output<Options[keyof Options]>;
  });
}

const Settings = z.strictObject({
  model: AgentModel.optional(),
  response_length: ResponseLength.optional(),
  instructions: z.string().optional(),
});

const Permissions = z.record(z.string(), z.enum(['allow', 'ask', 'deny']));

const World = z.strictObject({
  name: z.string().default('Ada'),
  time_zone: z.string().default('UTC'),
  language: z.string().default('en'),
  calendar: z.array(Event).optional().describe('Connects the calendar with these events.'),
  mails: z.array(Mail).optional().describe('Connects the mailbox with these received mails.'),
  search: z.array(Page).default([]).describe('What the search engine finds. The text is the excerpt.'),
  pages: z.array(WebPage).default([]).describe('What can be opened, in addition to the pages that are found.'),
  history: z.array(History).default([]).describe('Earlier messages, oldest first.'),
  memories: z.array(Memory).default([]),
  agents: z.record(Agent, Settings).default({}),
  permissions: Permissions.default({}),
  plan: z.enum(['free', 'small-turns', 'small-month']).default('free'),
  refuse: z
    .record(z.string(), z.int().min(400).max(599))
    .default({})
    .describe('Status of the next request to a method of an app.'),
});

const Step = oneOf({
  say: z.strictObject({
    say: z.string().min(1),
    to: Agent.optional().describe('Sends it in the conversation with this agent.'),
    conversation: z.string().optional().describe('Sends it in another conversation, by its title.'),
    files: z.array(File).min(1).optional(),
    mention: z.array(Agent).min(1).optional(),
    refused: z.string().optional().describe('The error code with which the product must refuse the message.'),
  }),
  card: z.strictObject({ card: z.string().describe('The id or the label of an action.'), title: Text.optional() }),
  stop: z.strictObject({
    stop: z.enum(['reply', 'delegation', 'workflow']).describe('As soon as it has begun.'),
    agent: Agent.optional(),
  }),
  steer: z.strictObject({ steer: z.string().min(1).describe('A message for the reply that has begun.') }),
  edit: z.strictObject({ edit: z.string().min(1) }),
  regenerate: z.strictObject({ regenerate: z.literal(true) }),
  permit: z.strictObject({ permit: Permissions }),
  delete_memory: z.strictObject({ delete_memory: z.string(), agent: Agent.default('manager') }),
});
export type UserStep = z.output<typeof Step>;

const Call = z.record(z.string(), z.record(z.string(), z.unknown()));
const ModelStep = z
  .strictObject({
    say: z.string().optional(),
    call: z.union([z.array(Call), Call]).optional(),
    hold: z.literal(true).optional().describe('Streams the first word, then waits until the user has acted.'),
    usage: z.strictObject({ prompt: z.int(), completion: z.int() }).optional(),
    finish: z.enum(['length', 'refused']).optional(),
  })
  .refine(({ say, call, finish }) => say !== undefined || call !== undefined || finish !== undefined, {
    error: 'needs say, call or finish',
  });
export type ScriptStep = z.output<typeof ModelStep>;

const Turn = z.strictObject({
  agent: Agent.default('manager'),
  on: z.string().optional().describe('Text that the newest message contains. Default: the next turn of the agent.'),
  steps: z.array(ModelStep).min(1),
});
export type ScriptTurn = z.output<typeof Turn>;

const hasSteps = (entry: unknown): boolean => typeof entry === 'object' && entry !== null && 'steps' in entry;

/** Model behavior: turns, or the steps of one manager turn. */
const Script = z.preprocess(
  (script) => (Array.isArray(script) && !script.some(hasSteps) ? [{ steps: script }] : script),
  z.array(Turn).min(1),
);

const one = <Fields extends z.ZodRawShape>(fields: Fields) => z.strictObject(fields).partial();
const EventRule = one({
  title: Text,
  start: z.string(),
  end: z.string(),
  location: Text,
  attendees: z.array(z.string()),
});
const MailRule = one({ to: z.array(z.string()), subject: Text, body: Text });
const MemoryRule = one({ agent: Agent, key: Text, content: Text, category: Text, scope: MemoryScope });
const AgentRule = one({
  slug: Agent,
  name: Text,
  role: Text,
  description: Text,
  skills: z.array(z.string()),
  model: z.string(),
  instructions: Text,
  denied: z.array(z.string()).describe('Tools that it must not use.'),
});
const FileRule = one({
  name: Text,
  type: z.enum(['text', 'markdown', 'csv', 'html', 'docx', 'xlsx', 'pdf']),
  text: Text,
  agent: Agent,
});
const ArtifactRule = one({
  title: Text,
  status: z.enum(['draft', 'final']),
  version: z.int(),
  content: Text,
  earlier: z.array(Text).describe('Contents of earlier versions, oldest first.'),
  agent: Agent,
});
const ReceiptRule = one({ tool: z.string(), status: z.string(), approved: z.boolean() });
const CardRule = one({ title: Text, description: Text, chosen: z.string().nullable(), withdrawn: z.boolean() });
const ReplyRule = one({ agent: Agent, text: Text, status: z.string(), error: z.string() });
const DelegationRule = one({ from: Agent, to: Agent, status: z.enum(['running', 'completed', 'failed']), task: Text });
const WorkflowRule = one({
  name: Text,
  status: z.enum(['running', 'completed', 'failed', 'cancelled']),
  steps: z.array(one({ name: Text, agent: Agent, status: z.string() })),
});
const ToolRule = one({ tool: z.string(), state: z.enum(['completed', 'failed']) });

const Expectation = z.strictObject({
  calendar: z.array(EventRule).optional().describe('The whole calendar at the end. Default: unchanged.'),
  notified: z.array(z.string()).optional().describe('Addresses that were invited or informed. Default: none.'),
  sent: z.array(MailRule).default([]).describe('All sent mails.'),
  drafts: z.array(MailRule).default([]).describe('All drafts.'),
  memories: z.array(MemoryRule).optional().describe('All memories. Default: the initial ones are unchanged.'),
  agents: z.array(AgentRule).default([]).describe('All agents that are new or have changed.'),
  removed: z.array(Agent).default([]).describe('All agents that were removed.'),
  artifacts: z.array(ArtifactRule).optional().describe('All artifacts.'),
  files: z.array(FileRule).optional().describe('All files that agents wrote.'),
  receipts: z.array(ReceiptRule).optional().describe('All receipts of calls to other systems.'),
  cards: z.array(CardRule).optional().describe('All cards.'),
  delegations: z.array(DelegationRule).optional().describe('All delegations.'),
  workflows: z.array(WorkflowRule).optional().describe('All workflows.'),
  tools: z.array(ToolRule).optional().describe('Calls that are among those that the user sees.'),
  requests: z.array(z.string()).optional().describe('Methods that the apps have executed at least once.'),
  searched: z.array(Text).optional().describe('Queries that the search engine has received.'),
  opened: z.array(Text).optional().describe('Addresses that the page reader has requested.'),
  reply: ReplyRule.optional().describe('The last reply.'),
  replies: z.array(ReplyRule).optional().describe('All replies.'),
  forbidden: z.array(Text).default([]).describe('Texts that appear in no effect and no reply.'),
  limits: one({ tokens: z.int(), model_calls: z.int(), tool_calls: z.int() }).default({}),
});
export type Expectation = z.output<typeof Expectation>;

export const Task = z.strictObject({
  id: Slug,
  shows: z.string().min(1).describe('What a passed task shows, as one sentence.'),
  world: World.prefault({}),
  user: z.array(Step).min(1),
  expect: Expectation,
  script: Script.describe('A reference: one way to pass.'),
  wrong: Script.describe('A plausible mistake.'),
});
export type Task = z.output<typeof Task> & { category: Category };
