import { z } from 'zod';
import { IntegrationProvider } from '../enums.js';
import { IntegrationCatalog, OAuthConfiguration } from '../resources/integration.js';
import { data } from '../resources/primitives.js';
import { defineRoute, noContent, ok, text } from './define.js';
import { EXAMPLE } from './examples.js';

const STATE =
  'The server creates the `state` of each flow, also for providers with PKCE. A client must not create its own: a callback with ' +
  'another `state` fails with `integration_code_invalid`.';

export const integrationRoutes = [
  defineRoute({
    operationId: 'listIntegrations',
    method: 'get',
    path: '/v1/integrations',
    auth: 'user',
    tag: 'integrations',
    summary: 'List tools and apps',
    description: 'Everything that this installation offers, with the apps that the user has connected.',
    responses: ok(data(IntegrationCatalog)),
    example: {
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
  }),
  defineRoute({
    operationId: 'connectIntegration',
    method: 'post',
    path: '/v1/integrations/connect',
    auth: 'user',
    tag: 'integrations',
    summary: 'Get authorization parameters',
    description: STATE,
    body: z
      .object({ provider: IntegrationProvider.meta({ description: 'Whose account to connect.' }) })
      .meta({ id: 'ConnectIntegrationBody', description: 'Which app to connect.' }),
    responses: ok(OAuthConfiguration),
    errors: ['integration_not_configured'],
    example: {
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
  }),
  defineRoute({
    operationId: 'completeIntegration',
    method: 'post',
    path: '/v1/integrations/callback',
    auth: 'user',
    tag: 'integrations',
    summary: 'Complete the OAuth flow',
    description: STATE,
    body: z
      .object({
        provider: IntegrationProvider.meta({ description: 'Whose account to connect, as when the flow began.' }),
        authorization_code: z.string().min(1).max(4_096).meta({
          description: 'The `code` that the provider added to the redirect URL, up to 4,096 characters.',
        }),
        code_verifier: z.string().max(256).meta({
          description:
            'The secret behind the `code_challenge` (RFC 7636), up to 256 characters; empty for providers without one.',
        }),
        redirect_url: z
          .string()
          .max(2_048)
          .meta({ description: 'The one of the authorization parameters, unchanged.' }),
        state: z.string().max(1_024).optional().meta({
          description:
            'The value that the provider returned. Required for providers without `code_challenge_method`; always checked if present.',
        }),
        iss: z.string().max(2_048).optional().meta({
          description:
            'The value that the provider returned (RFC 9207); checked if the issuer of the provider is configured.',
        }),
      })
      .meta({ id: 'CompleteIntegrationBody', description: 'What the provider returned to the client.' }),
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
        asana: {
          provider: 'asana',
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
    tag: 'integrations',
    summary: 'Disconnect a provider',
    description: 'Deletes the stored tokens and revokes them at the provider. Agents can no longer use the app.',
    extension: true,
    params: { provider: text('The `provider` of a connected app.') },
    responses: noContent,
    errors: ['integration_not_found'],
    example: { params: { provider: 'asana' } },
  }),
] as const;
