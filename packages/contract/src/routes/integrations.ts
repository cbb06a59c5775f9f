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
    body: z.object({ provider: IntegrationProvider }).meta({ id: 'ConnectIntegrationBody' }),
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
        provider: IntegrationProvider,
        authorization_code: z.string().min(1).max(4_096),
        code_verifier: z.string().max(256),
        redirect_url: z.string().max(2_048),
        state: z.string().max(1_024).optional().meta({
          description:
            'The value that the provider returned. Required for providers without `code_challenge_method`; always checked if present.',
        }),
        iss: z.string().max(2_048).optional().meta({
          description:
            'The value that the provider returned (RFC 9207); checked if the issuer of the provider is configured.',
        }),
      })
      .meta({ id: 'CompleteIntegrationBody' }),
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
    extension: true,
    params: { provider: text },
    responses: noContent,
    errors: ['integration_not_found'],
    example: { params: { provider: 'asana' } },
  }),
] as const;
