import type { AgentData, AgentSummary } from '../resources/agent.js';
import type { Artifact, ArtifactSummary, ArtifactVersion } from '../resources/artifact.js';
import type { Conversation } from '../resources/conversation.js';
import type { Export } from '../resources/export.js';
import type { LegalStatus } from '../resources/legal.js';
import type { MessageData, MessageContent } from '../resources/message.js';
import type { Attachment } from '../resources/upload.js';
import type { UsageAmount, UsageReport, WorkspaceBudget } from '../resources/usage.js';
import type { UserProfile } from '../resources/user.js';
import type { WorkflowSummary } from '../resources/workflow.js';
import type { WorkspaceImport } from '../resources/workspace-import.js';
import { workspaceExample } from '../resources/workspace.js';

/** A request that succeeds, with example ids, and its JSON response. */
export interface Example {
  params?: Record<string, string>;
  query?: Record<string, unknown>;
  /** By name: one or more bodies. */
  body?: Record<string, unknown>;
  multipart?: unknown;
  answer?: unknown;
}

/** Ids and secrets in the examples. Tests replace them by a test user's. */
export const EXAMPLE = {
  workspaceId: workspaceExample.id,
  agentId: '01931a5e-7c00-7000-8000-000000000002',
  conversationId: '01931a5e-7c00-7000-8000-000000000003',
  messageId: '01931a5e-7c00-7000-8000-000000000004',
  replyId: '01931a5e-7c00-7000-8000-000000000005',
  cardId: '01931a5e-7c00-7000-8000-000000000006',
  answerId: '01931a5e-7c00-7000-8000-000000000009',
  uploadId: '01931a5e-7c00-7000-8000-000000000007',
  exportId: '01931a5e-7c00-7000-8000-000000000008',
  importId: '01931a5e-7c00-7000-8000-0000000000a1',
  artifactId: '01931a5e-7c00-7000-8000-00000000000a',
  receiptId: '01931a5e-7c00-7000-8000-00000000000b',
  workflowId: '01931a5e-7c00-7000-8000-00000000000c',
  scheduleId: '01931a5e-7c00-7000-8000-000000000010',
  triggerId: '01931a5e-7c00-7000-8000-000000000013',
  turnId: '01931a5e-7c00-7000-8000-00000000000d',
  webhookId: '01931a5e-7c00-7000-8000-00000000000e',
  webhookDeliveryId: '01931a5e-7c00-7000-8000-00000000000f',
  apiTokenId: '01931a5e-7c00-7000-8000-000000000012',
  localId: '2b7e1516-28ae-4d2a-a6ab-f7158809cf4f',
  linkSignature: 'mFh8eBq1o0WcZ3tR5yKvXw',
  exportSignature: 'nGi9fCr2p1XdA4uS6zLwYx',
  authorizationCode: '4/0AeanS0b-example-code',
  codeVerifier: 'dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk',
  redirectUrl: 'https://app.example.com/callback',
  serverCode: 'eyJ0eXAi-example-code',
  serverVerifier: 'M25iVXpKU3puUjFaYWg3T1NDTDQtcW1ROUY5YXlwalNoc0hhakxifmZHag',
  serverRedirectUrl: 'https://app.example.com/connected/linear',
  userServerUrl: 'https://wiki.example.com/mcp',
} as const;

export const MORNING = '2026-11-20T08:30:00.000Z';
const LATER = '2026-11-20T08:30:04.250Z';

export const agentSummary: AgentSummary = {
  id: EXAMPLE.agentId,
  name: 'Researcher',
  role: 'Researcher',
  slug: 'researcher',
  avatar: '/v1/assets/agent-researcher.svg',
  status: 'online',
};

const agentData: AgentData = {
  id: EXAMPLE.agentId,
  name: 'Researcher',
  role: 'sub-agent',
  slug: 'researcher',
  avatar: '/v1/assets/agent-researcher.svg',
  status: 'online',
};

export const attachment: Attachment = {
  id: EXAMPLE.uploadId,
  url: `/v1/uploads/${EXAMPLE.uploadId}?sig=${EXAMPLE.linkSignature}`,
  type: 'file',
  name: 'groceries.txt',
  size: 24,
  mime_type: 'text/plain',
  duration: null,
  width: null,
  height: null,
};

export const sentMessage: MessageData = {
  id: EXAMPLE.messageId,
  conversation_id: EXAMPLE.conversationId,
  role: 'user',
  content: { type: 'text', text: '@Researcher what is on my list?' },
  status: 'delivered',
  extended_status: 'sent',
  created_at: MORNING,
  updated_at: MORNING,
  rev: 65,
  position: '0000000000000041b',
  error: null,
  edited_at: null,
  local_id: EXAMPLE.localId,
  agent: null,
  attachments: [attachment],
  mentions: [{ agent_id: EXAMPLE.agentId, agent_name: 'Researcher', offset: 0, length: 11 }],
};

export const editedMessage: MessageData = {
  ...sentMessage,
  content: { type: 'text', text: '@Researcher what is still on my list?' },
  updated_at: LATER,
  rev: 70,
  edited_at: LATER,
};

export const listedMessage: MessageData = { ...sentMessage, extended_status: 'read' };

export const chosenCard: MessageData = {
  id: EXAMPLE.cardId,
  conversation_id: EXAMPLE.conversationId,
  role: 'agent',
  content: {
    type: 'action_card',
    title: 'Book the table?',
    description: 'Tonight at eight, for two.',
    actions: [
      { id: 'yes', label: 'Yes', style: 'primary' },
      { id: 'no', label: 'No', style: 'secondary' },
    ],
    selected_action_id: 'yes',
  },
  status: 'delivered',
  extended_status: 'delivered',
  created_at: MORNING,
  updated_at: LATER,
  rev: 69,
  position: '0000000000000043b',
  error: null,
  edited_at: null,
  local_id: null,
  agent: agentData,
  attachments: [],
  mentions: [],
  turn_id: EXAMPLE.turnId,
  in_reply_to: EXAMPLE.messageId,
};

export const workflowSteps: WorkflowSummary['steps'] = [
  {
    step_id: 'trains',
    name: 'Find trains',
    status: 'completed',
    agent_slug: 'researcher',
    started_at: '2026-11-20T08:30:02.125Z',
    finished_at: '2026-11-20T08:30:03.512Z',
  },
  {
    step_id: 'plan',
    name: 'Write the plan',
    status: 'running',
    agent_slug: 'writer',
    started_at: '2026-11-20T08:30:03.512Z',
    finished_at: null,
  },
];

/** One content of each type. */
const CONTENTS: { [Type in MessageContent['type']]: Extract<MessageContent, { type: Type }> } = {
  text: { type: 'text', text: 'Tea, bread and marmalade.' },
  action_card: {
    type: 'action_card',
    title: 'Book the table?',
    description: 'Tonight at eight, for two.',
    actions: [{ id: 'yes', label: 'Yes', style: 'primary' }],
    selected_action_id: null,
  },
  tool_status: { type: 'tool_status', tool: 'web_search_tool', description: 'Green tea', state: 'completed' },
  system: { type: 'system', text: 'The monthly limit is reached.' },
  loading: { type: 'loading' },
  delegation: {
    type: 'delegation',
    from: { ...agentData, name: 'Manager', role: 'manager', slug: 'manager' },
    to: agentData,
    status: 'running',
    task_preview: 'Find three sources on green tea.',
  },
  artifact: {
    type: 'artifact',
    artifact_id: EXAMPLE.artifactId,
    title: 'Shopping list',
    version: 2,
    status: 'final',
    agent_slug: 'writer',
    content_preview: '- tea',
  },
  workflow: {
    type: 'workflow',
    workflow_id: EXAMPLE.workflowId,
    workflow_name: 'Plan a trip',
    execution_id: EXAMPLE.workflowId,
    status: 'running',
    steps: workflowSteps,
  },
};

/** A message of each type of content, as an agent wrote it. */
export const listedKinds: MessageData[] = Object.values(CONTENTS).map((content) => ({
  ...listedMessage,
  role: 'agent',
  content,
  local_id: null,
  agent: agentData,
  attachments: [],
  mentions: [],
  turn_id: EXAMPLE.turnId,
  in_reply_to: EXAMPLE.messageId,
}));

export const conversation: Conversation = {
  id: EXAMPLE.conversationId,
  type: 'swarm',
  title: 'My workspace',
  created_at: MORNING,
  updated_at: LATER,
  rev: 70,
  unread_count: 0,
  last_read_message_id: EXAMPLE.messageId,
  muted: false,
  agent: null,
  last_message: sentMessage,
};

export const agentConversation: Conversation = {
  ...conversation,
  type: 'agent',
  title: 'Researcher',
  agent: agentSummary,
  last_read_message_id: null,
  last_message: null,
};

export { workspaceExample as workspace };

export const legalStatus: LegalStatus = {
  terms_of_service: '# Terms of service',
  privacy_policy: '# Privacy policy',
  has_agreed_with_terms: false,
  has_agreed_with_privacy_policy: false,
  terms_of_service_version: '1',
  privacy_policy_version: '1',
};

export const profile: UserProfile = {
  email: 'ada@example.com',
  idp_uid: 'auth0|5f7c8ec7c33c6c004bbafe82',
  nickname: 'ada',
  name: 'Ada',
  surname: 'Lovelace',
  avatar_url: 'https://example.com/ada.png',
  country_code: 'GB',
  date_of_birth: '1990-12-10T00:00:00.000Z',
  created_at: MORNING,
  is_deleted: false,
  is_banned: false,
  has_agreed_with_terms: true,
  has_agreed_with_privacy_policy: true,
  preferences: { platform_theme: 'dark', platform_language: 'en-GB', currency_code: 'GBP' },
  subscription: { name: 'Free', code: 'free', expires_at: null },
  time_zone: 'Europe/London',
};

export const memory = {
  key: 'favourite tea',
  content: 'Darjeeling, second flush.',
  category: 'core',
  created_at: MORNING,
  updated_at: MORNING,
  created_by: 'user' as const,
  source: null,
  scope: 'workspace' as const,
};

export const usage = {
  tokens_used: 1_250,
  prompt_tokens_used: 1_000,
  completion_tokens_used: 250,
  request_count: 3,
  token_limit: 1_000_000,
};

export const budget: WorkspaceBudget = {
  period: '2026-11',
  monthly_cost_micros: 10_000_000,
  monthly_tokens: null,
  currency: 'USD',
  cost_micros_used: 5_750,
  tokens_used: 1_250,
  state: 'within',
  resets_at: '2026-12-01T00:00:00.000Z',
};

const usageAmount: UsageAmount = {
  model_calls: 3,
  prompt_tokens: 1_000,
  cached_tokens: 0,
  completion_tokens: 250,
  reasoning_tokens: 0,
  cost_micros: 5_750,
  unpriced_tokens: 0,
};

export const lastPage = { next_scroll_id: null, prev_scroll_id: null, has_next: false, has_prev: false };

export const usageReport: UsageReport = {
  from: '2026-11-01',
  to: '2026-11-30',
  currency: 'USD',
  total: usageAmount,
  budget,
  groups: [
    {
      key: EXAMPLE.replyId,
      name: null,
      usage: usageAmount,
      turn: {
        agent_id: EXAMPLE.agentId,
        conversation_id: EXAMPLE.conversationId,
        delegated_by: null,
        total: usageAmount,
      },
    },
  ],
};

export const pendingExport: Export = {
  id: EXAMPLE.exportId,
  status: 'pending',
  workspace_id: null,
  created_at: MORNING,
  expires_at: null,
  size: null,
  url: null,
};

export const readyExport: Export = {
  ...pendingExport,
  status: 'ready',
  expires_at: '2026-11-27T08:30:04.250Z',
  size: 48_213,
  url: `/v1/users/exports/${EXAMPLE.exportId}/archive?sig=${EXAMPLE.exportSignature}`,
};

export const pendingWorkspaceExport: Export = { ...pendingExport, workspace_id: EXAMPLE.workspaceId };
export const readyWorkspaceExport: Export = { ...readyExport, workspace_id: EXAMPLE.workspaceId };

export const pendingImport: WorkspaceImport = {
  id: EXAMPLE.importId,
  status: 'pending',
  problem: null,
  workspace_id: null,
  created_at: MORNING,
};
export const finishedImport: WorkspaceImport = {
  ...pendingImport,
  status: 'done',
  workspace_id: EXAMPLE.workspaceId,
};

const artifactVersion: ArtifactVersion = {
  version: 2,
  title: 'Shopping list',
  status: 'final',
  agent_slug: 'writer',
  content_preview: '- tea',
  size: 5,
  created_at: LATER,
};

export const artifactSummary: ArtifactSummary = {
  id: EXAMPLE.artifactId,
  conversation_id: EXAMPLE.conversationId,
  ...artifactVersion,
};

export const artifact: Artifact = {
  ...artifactSummary,
  latest_version: 2,
  content: '- tea',
  versions: [
    artifactVersion,
    { ...artifactVersion, version: 1, status: 'draft', content_preview: '', size: 0, created_at: MORNING },
  ],
};

export const inWorkspace = { workspaceId: EXAMPLE.workspaceId };
export const inArtifact = { ...inWorkspace, id: EXAMPLE.artifactId };
export const inConversation = { ...inWorkspace, id: EXAMPLE.conversationId };
export const ofWorkspace = { id: EXAMPLE.workspaceId };
export const ofAgent = { id: EXAMPLE.agentId };
export const settings = {
  model: 'sonnet',
  response_length: 'short',
  prompts: [{ id: 'tone', name: 'Tone', description: 'How it writes', content: 'Write plainly.' }],
};
export const tool = {
  name: 'memories',
  description: 'Takes what it remembers into account.',
  icon_url: '/v1/assets/icon-memories.svg',
  category_id: 'knowledge',
  enabled: false,
  permission: 'deny',
};
