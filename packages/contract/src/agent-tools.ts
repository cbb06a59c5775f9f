/**
 * The entries with which users enable tools per agent, in the order in which clients list them. The tool server and the
 * agent runtime implement tools under these names; orchestrator tools name the entry that enables them. Without
 * schemas: a runtime loads this file, and memory counts there.
 */

export const WEB_SEARCH_TOOL = 'web_search_tool';
export const READ_PAGE_TOOL = 'read_page_tool';
/** Enables the tools for artifacts. */
export const ARTIFACTS_TOOL = 'artifacts';
/** Enables the tools `read_file` and `create_file`. */
export const FILES_TOOL = 'files';
/** Enables the tool `run_code`, if the operator does. */
export const CODE_TOOL = 'code';
/** Enables the tools `delegate` and `hand_over`. */
export const DELEGATION_TOOL = 'delegation';
/** Enables the tool `start_workflow`. */
export const WORKFLOWS_TOOL = 'workflows';
/** Enables the tools for schedules, if the operator does. */
export const SCHEDULES_TOOL = 'schedules';
/** Enables the tools `add_agent`, `change_agent` and `remove_agent`. */
export const AGENTS_TOOL = 'agents';
export const ACTION_CARD_TOOL = 'action_card_tool';
/** Enables the tools `remember`, `recall` and `forget`, and the memories in the prompt. */
export const MEMORIES_TOOL = 'memories';
/** Enables the tools for the user's calendar. */
export const GOOGLE_CALENDAR_TOOL = 'google_calendar';
/** Enables the tools for the user's mail. */
export const GMAIL_TOOL = 'gmail';

/** Between server and tool in a server tool's name, such as `github__create_issue`. */
export const SERVER_SEPARATOR = '__';

/** The tool server in a tool's name; undefined for other tools. */
export function serverOfTool(name: string): string | undefined {
  const end = name.indexOf(SERVER_SEPARATOR);
  return end > 0 ? name.slice(0, end) : undefined;
}

export interface AgentToolEntry {
  name: string;
  description: string;
  icon_url: string;
  category_id: string;
  /** Default for agents whose user has not changed it. */
  enabled: boolean;
  /** True if calls can change something, so that they can need the user's approval. */
  changes: boolean;
  /** The integration that the tool needs. */
  provider?: 'google_calendar' | 'gmail';
  /** True if users cannot turn it off. */
  isForced?: true;
  /** True if only the manager can have it. */
  managerOnly?: true;
  /** The setting with which the operator turns the tool on. */
  setting?: 'CODE_RUNNER_ENABLED' | 'SCHEDULES_ENABLED';
  /** Default for calls that change something. Changes in other systems ask. */
  permission: 'allow' | 'ask';
}

export const AGENT_TOOLS: readonly AgentToolEntry[] = [
  {
    name: WEB_SEARCH_TOOL,
    description: 'Searches the web and names the sources.',
    icon_url: '/v1/assets/icon-web-search.svg',
    category_id: 'research',
    enabled: true,
    changes: false,
    permission: 'allow',
  },
  {
    name: READ_PAGE_TOOL,
    description: 'Opens web pages and PDF files on the web, and names them as sources.',
    icon_url: '/v1/assets/icon-read-page.svg',
    category_id: 'research',
    enabled: true,
    changes: false,
    permission: 'allow',
  },
  {
    name: MEMORIES_TOOL,
    description: 'Remembers facts about you and your work, and takes them into account in every answer.',
    icon_url: '/v1/assets/icon-memories.svg',
    category_id: 'knowledge',
    enabled: true,
    changes: true,
    permission: 'allow',
  },
  {
    name: ARTIFACTS_TOOL,
    description: 'Writes documents that you can open, and revises them.',
    icon_url: '/v1/assets/icon-artifacts.svg',
    category_id: 'creation',
    enabled: true,
    changes: true,
    permission: 'allow',
  },
  {
    name: FILES_TOOL,
    description: 'Reads the files that you attach, and writes files that you can download.',
    icon_url: '/v1/assets/icon-files.svg',
    category_id: 'creation',
    enabled: true,
    changes: true,
    permission: 'allow',
  },
  {
    name: CODE_TOOL,
    setting: 'CODE_RUNNER_ENABLED',
    description: 'Runs programs without network to calculate, and to draw charts and write sheets from your files.',
    icon_url: '/v1/assets/icon-run-code.svg',
    category_id: 'development',
    enabled: true,
    changes: true,
    permission: 'allow',
  },
  {
    name: WORKFLOWS_TOOL,
    description: 'Plans longer work as steps of several agents, which run while you do something else.',
    icon_url: '/v1/assets/icon-workflows.svg',
    category_id: 'creation',
    enabled: true,
    changes: true,
    permission: 'allow',
  },
  {
    name: SCHEDULES_TOOL,
    setting: 'SCHEDULES_ENABLED',
    description: 'Does things later or regularly, and reminds you.',
    icon_url: '/v1/assets/icon-schedules.svg',
    category_id: 'communication',
    enabled: true,
    changes: true,
    permission: 'allow',
  },
  {
    name: DELEGATION_TOOL,
    description: 'Gives tasks to other agents of the swarm, or hands your question over to one of them.',
    icon_url: '/v1/assets/icon-delegation.svg',
    category_id: 'communication',
    enabled: true,
    changes: true,
    permission: 'allow',
  },
  {
    name: AGENTS_TOOL,
    managerOnly: true,
    description: 'Adds, changes and removes agents of the swarm when you ask for it.',
    icon_url: '/v1/assets/icon-agents.svg',
    category_id: 'communication',
    enabled: true,
    changes: true,
    permission: 'allow',
  },
  {
    name: ACTION_CARD_TOOL,
    description: 'Asks you to choose where a decision is yours.',
    icon_url: '/v1/assets/icon-choice.svg',
    category_id: 'communication',
    enabled: true,
    changes: false,
    permission: 'allow',
  },
  {
    name: GOOGLE_CALENDAR_TOOL,
    provider: 'google_calendar',
    description: 'Reads, plans, moves and deletes events in your Google calendar, once you have connected it.',
    icon_url: '/v1/assets/icon-calendar.svg',
    category_id: 'calendar_and_mail',
    enabled: true,
    changes: true,
    permission: 'ask',
  },
  {
    name: GMAIL_TOOL,
    provider: 'gmail',
    description: 'Searches and reads your Gmail, and writes drafts and mails, once you have connected it.',
    icon_url: '/v1/assets/icon-mail.svg',
    category_id: 'calendar_and_mail',
    enabled: true,
    changes: true,
    permission: 'ask',
  },
];

/** Tool description for models. */
export interface ModelToolEntry {
  description: string;
  inputSchema: { type: 'object'; properties: Record<string, Record<string, unknown>>; required: string[] };
}

/**
 * Tool descriptions shown to models. Runtimes ignore the server's own texts, because a description can steer a model.
 */
export const TOOL_SERVER_TOOLS: Readonly<Record<string, ModelToolEntry>> = {
  [WEB_SEARCH_TOOL]: {
    description:
      'Searches the web and returns titles, addresses and short excerpts. Status "upstream_failed" means that the search ' +
      'failed, not that nothing exists.',
    inputSchema: {
      type: 'object',
      properties: {
        query: { type: 'string', description: 'Plain words.' },
        max_results: { type: 'integer', default: 5, description: 'At most 15.' },
      },
      required: ['query'],
    },
  },
  [READ_PAGE_TOOL]: {
    description: 'Opens a web page or a PDF file on the web and returns its text as Markdown, in parts.',
    inputSchema: {
      type: 'object',
      properties: {
        url: { type: 'string', description: 'The exact address.' },
        part: { type: 'integer', default: 1 },
      },
      required: ['url'],
    },
  },
};
