import type { OperationId } from '../routes/index.js';
import {
  agentConversation,
  agentSummary,
  attachment,
  chosenCard,
  conversation,
  editedMessage,
  EXAMPLE,
  lastPage,
  legalStatus,
  listedKinds,
  listedMessage,
  memory,
  pendingExport,
  profile,
  readyExport,
  sentMessage,
  usage,
  workspace,
} from './example-objects.js';

/** A request that succeeds, but for its ids, and what it is answered where that is JSON. */
export interface Example {
  params?: Record<string, string>;
  query?: Record<string, unknown>;
  /** One or more, by a name that says what it is for. */
  body?: Record<string, unknown>;
  multipart?: unknown;
  answer?: unknown;
}

const inWorkspace = { workspaceId: EXAMPLE.workspaceId };
const inConversation = { ...inWorkspace, id: EXAMPLE.conversationId };
const ofWorkspace = { id: EXAMPLE.workspaceId };
const ofAgent = { id: EXAMPLE.agentId };
const settings = {
  model: 'sonnet',
  response_length: 'short',
  prompts: [{ id: 'tone', name: 'Tone', description: 'How it writes', content: 'Write plainly.' }],
};
const tool = {
  name: 'memories',
  description: 'Takes what it remembers into account.',
  icon_url: '/v1/assets/icon-memories.svg',
  category_id: 'knowledge',
  enabled: false,
};

/** Of every operation. A test checks each against the schemas of its route, another one sends it. */
export const EXAMPLES: Record<OperationId, Example> = {
  getHealth: { answer: { data: { online: true, version: '0.1.0' } } },
  getOpenApi: {},
  getAsyncApi: {},
  listModels: {
    answer: { data: [{ id: 'flash', name: 'Flash', provider: 'demo', description: 'Fast, for everyday questions.' }] },
  },
  getLegal: { answer: { data: legalStatus } },
  setPushToken: { body: { token: { push_token: 'fcm:dVf3-example' } }, answer: { success: true } },
  createUpload: { multipart: { file: 'tea, bread, marmalade\n' }, answer: { data: attachment } },
  getAsset: { params: { name: 'agent-researcher.svg' } },
  getUpload: { params: { id: EXAMPLE.uploadId }, query: { sig: EXAMPLE.linkSignature } },

  signIn: {},
  signUp: {},
  logout: {},
  logoutEverywhere: {},
  deleteAccount: { body: { reason: { reason: 'not_useful', description: 'I have a notebook.' } } },
  getProfile: { answer: { data: profile } },
  updateUser: {
    body: {
      names: { name: 'Ada', surname: 'Lovelace', nickname: 'ada', country_code: 'GB', date_of_birth: '1990-12-10' },
      preferences: { preferences: { platform_theme: 'dark', platform_language: 'en-GB', currency_code: 'GBP' } },
      clear: { date_of_birth: null },
    },
  },
  getUserLegal: { answer: { data: { ...legalStatus, has_agreed_with_terms: true } } },
  acceptLegal: {
    body: {
      both: { terms_of_service_version: '1', privacy_policy_version: '1' },
      terms: { terms_of_service_version: '1' },
    },
  },
  createExport: { answer: { data: pendingExport } },
  listExports: { answer: { data: [readyExport] } },
  getExport: { params: { id: EXAMPLE.exportId }, answer: { data: readyExport } },
  getExportArchive: { params: { id: EXAMPLE.exportId }, query: { sig: EXAMPLE.exportSignature } },
  getUsageSummary: { answer: { data: { current_period: '2026-11', ...usage, plan_id: 'free' } } },

  listWorkspaces: { answer: { data: [workspace] } },
  createWorkspace: { body: { workspace: { name: 'Garden' } }, answer: { data: { ...workspace, name: 'Garden' } } },
  getWorkspace: { params: ofWorkspace, answer: { data: workspace } },
  updateWorkspace: {
    params: ofWorkspace,
    body: { name: { name: 'Garden' } },
    answer: { data: { ...workspace, name: 'Garden' } },
  },
  deleteWorkspace: { params: ofWorkspace },
  getWorkspaceUsage: { params: ofWorkspace, answer: { data: { period: '2026-11', ...usage } } },
  listWorkspaceEvents: {
    params: ofWorkspace,
    query: { since: 1 },
    answer: {
      data: [
        {
          seq: 2,
          event: 'message.new',
          payload: { seq: 2, workspace_id: EXAMPLE.workspaceId, message: { ...sentMessage } },
        },
      ],
      has_next: false,
    },
  },

  listAgents: { params: inWorkspace, answer: { data: [agentSummary] } },
  getAgent: { params: ofAgent, answer: { data: agentSummary } },
  getAgentDetails: {
    params: ofAgent,
    answer: {
      data: {
        id: EXAMPLE.agentId,
        workspace_id: EXAMPLE.workspaceId,
        name: 'Researcher',
        role: 'Researcher',
        slug: 'researcher',
        created_at: workspace.created_at,
        updated_at: null,
        description: 'Finds facts on the web and names the sources.',
        avatar_url: '',
        status: 'online',
        sort_order: 1,
        skills: ['web_search', 'fact_check', 'news', 'sources'],
        stats: { total_messages: 12, memory_used_pct: 1 },
      },
    },
  },
  getAgentHistory: {
    params: ofAgent,
    query: { limit: 20 },
    answer: { data: [listedMessage], pagination: lastPage },
  },
  getAgentSettings: { params: ofAgent, answer: { data: settings } },
  updateAgentSettings: {
    params: ofAgent,
    body: { all: settings, model: { model: 'sonnet' } },
    answer: { data: settings },
  },
  listAgentTools: { params: ofAgent, answer: { data: [tool] } },
  updateAgentTool: {
    params: { ...ofAgent, name: tool.name },
    body: { off: { enabled: false } },
    answer: { data: tool },
  },
  listAgentMemories: { params: ofAgent, query: { category: 'core' }, answer: { data: [memory] } },
  createAgentMemory: {
    params: ofAgent,
    body: {
      memory: { key: memory.key, content: memory.content, category: 'core' },
      reduced: { key: memory.key, content: memory.content },
    },
    answer: { data: memory },
  },
  deleteAgentMemory: { params: { ...ofAgent, key: memory.key } },

  listConversations: {
    params: inWorkspace,
    query: { limit: 20 },
    answer: { data: [conversation], pagination: lastPage },
  },
  createConversation: {
    params: inWorkspace,
    body: { agent: { type: 'agent', agent_id: EXAMPLE.agentId }, swarm: { type: 'swarm', agent_id: null } },
    answer: { data: agentConversation },
  },
  updateConversation: {
    params: inConversation,
    body: { title: { title: 'Groceries' }, reset: { title: null } },
    answer: { data: { ...conversation, title: 'Groceries' } },
  },
  getConversation: { params: inConversation, answer: { data: conversation } },
  deleteConversation: { params: inConversation },
  markConversationRead: {
    params: inConversation,
    body: { everything: {}, up_to_a_message: { message_id: EXAMPLE.messageId } },
  },
  listMessages: {
    params: inConversation,
    query: { limit: 20, direction: 'backward' },
    answer: { data: [listedMessage, ...listedKinds], pagination: lastPage },
  },
  searchMessages: {
    params: inConversation,
    query: { q: 'list', limit: 20 },
    answer: { data: [listedMessage], pagination: lastPage },
  },
  sendMessage: {
    params: inConversation,
    body: {
      mention_and_attachment: {
        local_id: EXAMPLE.localId,
        content: { type: 'text', text: '@Researcher what is on my list?' },
        mentions: [{ agent_id: EXAMPLE.agentId, agent_name: 'Researcher', offset: 0, length: 11 }],
        attachments: [{ id: EXAMPLE.uploadId }],
      },
      text: { content: { type: 'text', text: 'Good morning!' } },
    },
    answer: { data: sentMessage },
  },
  getMessage: { params: { ...inWorkspace, id: EXAMPLE.messageId }, answer: { data: listedMessage } },
  deleteMessage: { params: { ...inWorkspace, id: EXAMPLE.messageId } },
  editMessage: {
    params: { ...inWorkspace, id: EXAMPLE.messageId },
    body: {
      text: {
        content: { type: 'text', text: '@Researcher what is still on my list?' },
        mentions: [{ agent_id: EXAMPLE.agentId, agent_name: 'Researcher', offset: 0, length: 11 }],
      },
      without_attachments: { content: { type: 'text', text: 'Good morning!' }, attachments: [] },
    },
    answer: { data: editedMessage },
  },
  regenerateMessage: { params: { ...inWorkspace, id: EXAMPLE.answerId }, answer: { data: sentMessage } },
  chooseAction: {
    params: { ...inWorkspace, id: EXAMPLE.cardId },
    body: { yes: { action_id: 'yes' } },
    answer: { data: chosenCard },
  },
  stopMessage: { params: { ...inWorkspace, id: EXAMPLE.replyId } },

  listIntegrations: {
    answer: {
      data: {
        categories: [{ id: 'projects', name: 'Projects', image_url: '' }],
        items: [
          {
            name: 'Asana',
            description: 'Finds, creates and changes tasks.',
            icon_url: '',
            category_id: 'projects',
            type: 'app',
            provider: 'asana',
            enabled: false,
          },
        ],
      },
    },
  },
  connectIntegration: {
    body: { asana: { provider: 'asana' } },
    answer: {
      client_id: 'client-asana',
      redirect_url: EXAMPLE.redirectUrl,
      authorization_endpoint: 'https://login.example.com/authorize',
      token_endpoint: 'https://login.example.com/token',
      scopes: ['default'],
      additional_parameters: { code_challenge_method: 'S256' },
    },
  },
  completeIntegration: {
    body: {
      asana: {
        provider: 'asana',
        authorization_code: EXAMPLE.authorizationCode,
        code_verifier: EXAMPLE.codeVerifier,
        redirect_url: EXAMPLE.redirectUrl,
      },
    },
  },
  disconnectIntegration: { params: { provider: 'asana' } },
};
