import { z } from 'zod';
import { IntegrationProvider } from '../enums.js';
import { IntegrationCatalog, OAuthConfiguration, ServerTool, UserToolServer } from '../resources/integration.js';
import { data } from '../resources/primitives.js';
import { created, defineRoute, noContent, ok, text } from './define.js';
import { EXAMPLE, MORNING } from './examples.js';

const STATE =
  'The server creates the `state` of each flow, also for providers with PKCE. A client must not create its own: a callback with ' +
  'another `state` fails with `integration_code_invalid`.';

const CompleteIntegrationBody = z.object({
  provider: IntegrationProvider.meta({ description: 'Whose account to connect, as when the flow began.' }),
  authorization_code: z.string().min(1).max(4_096).meta({
    description: 'The `code` that the provider added to the redirect URL, up to 4,096 characters.',
  }),
  code_verifier: z.string().max(256).meta({
    description:
      'The secret behind the `code_challenge` (RFC 7636), up to 256 characters; empty for providers without one.',
  }),
  redirect_url: z.string().max(2_048).meta({ description: 'The one of the authorization parameters, unchanged.' }),
  state: z.string().max(1_024).optional().meta({
    description:
      'The value that the provider returned. Required for providers without `code_challenge_method`; always checked if present.',
  }),
  iss: z.string().max(2_048).optional().meta({
    description:
      'The value that the provider returned (RFC 9207); checked if the issuer of the provider is known. Required if a tool server announces it.',
  }),
});

const AddToolServerBody = z
  .object({
    name: z.string().min(1).max(60).meta({
      description:
        'What the user sees on cards, up to 60 characters. It must not look like the name of another server or app.',
    }),
    url: z.string().min(1).max(1_000).meta({
      description: 'The MCP endpoint, with https on port 443 of a server on the internet, up to 1,000 characters.',
    }),
    token: z
      .string()
      .regex(/^[\x21-\x7e]+$/, 'must be printable ASCII without spaces')
      .max(4_096)
      .optional()
      .meta({
        description:
          'A bearer token of the user. It is stored encrypted, and never returned; up to 4,096 characters. Without one, the server ' +
          'needs none, or an account that the user connects then.',
      }),
    client_id: z
      .string()
      .min(1)
      .max(500)
      .optional()
      .meta({
        description:
          'A public OAuth client that the user has registered there, for a server that registers none itself; up to 500 characters. ' +
          'Not together with `token`.',
      }),
  })
  .meta({ id: 'AddToolServerBody', description: 'A tool server of the user.' });

const userToolServer: UserToolServer = {
  id: 'own_k3x9q2ab',
  name: 'Team wiki',
  url: EXAMPLE.userServerUrl,
  auth: 'none',
  state: 'connected',
  failure: null,
  tools: 1,
  created_at: MORNING,
};

export const integrationRoutes = [
  defineRoute({
    operationId: 'listIntegrations',
    method: 'get',
    path: '/v1/integrations',
    auth: 'user',
    scope: 'read',
    reach: 'account',
    tag: 'integrations',
    summary: 'List tools and apps',
    description: 'Everything that this installation offers, with the apps that the user has connected.',
    responses: ok(data(IntegrationCatalog)),
    example: {
      answer: {
        data: {
          categories: [{ id: 'calendar_and_mail', name: 'Calendar and mail', image_url: '' }],
          items: [
            {
              name: 'Gmail',
              description: 'Reads your mail and writes drafts.',
              icon_url: '',
              category_id: 'calendar_and_mail',
              type: 'app',
              provider: 'gmail',
              enabled: false,
            },
          ],
        },
      },
    },
  }),
  defineRoute({
    operationId: 'connectIntegration',
    method: 'post',
    path: '/v1/integrations/connect',
    auth: 'user',
    scope: 'write',
    reach: 'account',
    tag: 'integrations',
    summary: 'Get authorization parameters',
    description: STATE,
    body: z
      .object({ provider: IntegrationProvider.meta({ description: 'Whose account to connect.' }) })
      .meta({ id: 'ConnectIntegrationBody', description: 'Which app to connect.' }),
    responses: ok(OAuthConfiguration),
    errors: ['integration_not_configured'],
    example: {
      body: { gmail: { provider: 'gmail' } },
      answer: {
        client_id: 'client-gmail',
        redirect_url: EXAMPLE.redirectUrl,
        authorization_endpoint: 'https://login.example.com/authorize',
        token_endpoint: 'https://login.example.com/token',
        scopes: ['https://www.googleapis.com/auth/gmail.readonly'],
        additional_parameters: { code_challenge_method: 'S256' },
      },
    },
  }),
  defineRoute({
    operationId: 'completeIntegration',
    method: 'post',
    path: '/v1/integrations/callback',
    auth: 'user',
    scope: 'write',
    reach: 'account',
    tag: 'integrations',
    summary: 'Complete the OAuth flow',
    description: STATE,
    body: CompleteIntegrationBody.meta({
      id: 'CompleteIntegrationBody',
      description: 'What the provider returned to the client.',
    }),
    responses: noContent,
    errors: [
      'integration_not_configured',
      'redirect_url_not_allowed',
      'integration_code_invalid',
      'integration_permissions_missing',
      'integration_exchange_failed',
      'integration_unavailable',
    ],
    example: {
      body: {
        gmail: {
          provider: 'gmail',
          authorization_code: EXAMPLE.authorizationCode,
          code_verifier: EXAMPLE.codeVerifier,
          redirect_url: EXAMPLE.redirectUrl,
        },
      },
    },
  }),
  defineRoute({
    operationId: 'disconnectIntegration',
    method: 'delete',
    path: '/v1/integrations/{provider}',
    auth: 'user',
    scope: 'write',
    reach: 'account',
    tag: 'integrations',
    summary: 'Disconnect a provider',
    description: 'Deletes the stored tokens and revokes them at the provider. Agents can no longer use the app.',
    extension: true,
    params: { provider: text('The `provider` of a connected app.') },
    responses: noContent,
    errors: ['integration_not_found'],
    example: { params: { provider: 'gmail' } },
  }),
  defineRoute({
    operationId: 'listToolServers',
    method: 'get',
    path: '/v1/tool-servers',
    auth: 'user',
    scope: 'read',
    reach: 'account',
    tag: 'integrations',
    summary: 'List own tool servers',
    description:
      'The tool servers that the user has added, in this order. Those of the operator are in `GET /v1/integrations`.',
    extension: true,
    responses: ok(data(z.array(UserToolServer))),
    errors: ['tool_servers_not_enabled'],
    example: { answer: { data: [userToolServer] } },
  }),
  defineRoute({
    operationId: 'addToolServer',
    method: 'post',
    path: '/v1/tool-servers',
    auth: 'user',
    scope: 'write',
    reach: 'account',
    tag: 'integrations',
    summary: 'Add a tool server',
    description:
      'Calls the server first, and stores nothing if agents could not use it: `extra.reason` is then `unreachable`, `not_mcp`, ' +
      '`token_rejected` or `account_unsupported`. A server that the user has added before, by its `url`, keeps its id and gets the ' +
      'new name and token, so a request can be repeated.',
    extension: true,
    body: AddToolServerBody,
    responses: created(data(UserToolServer)),
    errors: ['tool_servers_not_enabled', 'tool_server_limit_reached', 'tool_server_unusable'],
    example: {
      body: { wiki: { name: 'Team wiki', url: EXAMPLE.userServerUrl } },
      answer: { data: userToolServer },
    },
  }),
  defineRoute({
    operationId: 'connectToolServer',
    method: 'post',
    path: '/v1/tool-servers/{server}/connect',
    auth: 'user',
    scope: 'write',
    reach: 'account',
    tag: 'integrations',
    summary: 'Get authorization parameters of a tool server',
    description: `Finds out how accounts of the server are connected. ${STATE}`,
    extension: true,
    params: { server: text('The `server` of an app in `GET /v1/integrations`.') },
    responses: ok(data(OAuthConfiguration)),
    errors: ['integration_not_found', 'integration_not_configured', 'integration_unavailable'],
    example: {
      params: { server: 'linear' },
      answer: {
        data: {
          client_id: 'client-linear',
          redirect_url: EXAMPLE.serverRedirectUrl,
          authorization_endpoint: 'https://login.example.com/authorize',
          token_endpoint: 'https://login.example.com/token',
          scopes: ['read'],
          additional_parameters: { code_challenge_method: 'S256', resource: 'https://mcp.example.com/mcp' },
        },
      },
    },
  }),
  defineRoute({
    operationId: 'completeToolServer',
    method: 'post',
    path: '/v1/tool-servers/{server}/callback',
    auth: 'user',
    scope: 'write',
    reach: 'account',
    tag: 'integrations',
    summary: 'Complete the OAuth flow of a tool server',
    description: STATE,
    extension: true,
    params: { server: text('The `server` of an app in `GET /v1/integrations`.') },
    body: CompleteIntegrationBody.omit({ provider: true }).meta({
      id: 'CompleteToolServerBody',
      description: 'What the authorization server returned to the client.',
    }),
    responses: noContent,
    errors: [
      'integration_not_found',
      'integration_not_configured',
      'redirect_url_not_allowed',
      'integration_code_invalid',
      'integration_exchange_failed',
      'integration_unavailable',
    ],
    example: {
      params: { server: 'linear' },
      body: {
        linear: {
          authorization_code: EXAMPLE.serverCode,
          code_verifier: EXAMPLE.serverVerifier,
          redirect_url: EXAMPLE.serverRedirectUrl,
        },
      },
    },
  }),
  defineRoute({
    operationId: 'disconnectToolServer',
    method: 'delete',
    path: '/v1/tool-servers/{server}',
    auth: 'user',
    scope: 'write',
    reach: 'account',
    tag: 'integrations',
    summary: 'Disconnect a tool server',
    description:
      'Deletes the stored tokens and revokes them. Agents can no longer use the account. A server that the user has added is ' +
      'removed, with everything that was stored about it.',
    extension: true,
    params: { server: text('The `server` of a connected app, or the `id` of an own tool server.') },
    responses: noContent,
    errors: ['integration_not_found'],
    example: { params: { server: 'linear' } },
  }),
  defineRoute({
    operationId: 'listServerTools',
    method: 'get',
    path: '/v1/tool-servers/{server}/tools',
    auth: 'user',
    scope: 'read',
    reach: 'account',
    tag: 'integrations',
    summary: 'List the tools of a connected account',
    description:
      'A tool that has changed since it was accepted is disabled. Show the user both definitions, and accept the new one then.',
    extension: true,
    params: { server: text('The `server` of a connected app.') },
    responses: ok(data(z.array(ServerTool))),
    errors: ['integration_not_found'],
    example: {
      params: { server: 'linear' },
      answer: {
        data: [
          {
            name: 'list_issues',
            state: 'changed',
            accepted: { description: 'Lists issues.', input_schema: { type: 'object' }, read_only: true },
            changed: { description: 'Lists issues of a team.', input_schema: { type: 'object' }, read_only: true },
          },
        ],
      },
    },
  }),
  defineRoute({
    operationId: 'acceptServerTools',
    method: 'post',
    path: '/v1/tool-servers/{server}/tools/accept',
    auth: 'user',
    scope: 'write',
    reach: 'account',
    tag: 'integrations',
    summary: 'Accept changed tools',
    description: 'Agents can use these tools again, as the server describes them now.',
    extension: true,
    params: { server: text('The `server` of a connected app.') },
    body: z
      .object({
        tools: z
          .array(z.string().min(1).max(200))
          .min(1)
          .max(1_000)
          .meta({ description: 'The `name` of each accepted tool.' }),
      })
      .meta({ id: 'AcceptServerToolsBody', description: 'What the user has seen and accepts.' }),
    responses: noContent,
    errors: ['integration_not_found', 'tool_not_found'],
    example: { params: { server: 'linear' }, body: { changed: { tools: ['list_issues'] } } },
  }),
] as const;
