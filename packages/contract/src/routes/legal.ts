import { z } from 'zod';
import { LegalStatus } from '../resources/legal.js';
import { data } from '../resources/primitives.js';
import { defineRoute, noContent, ok } from './define.js';
import * as examples from './examples.js';

export const legalRoutes = [
  defineRoute({
    operationId: 'getLegal',
    method: 'get',
    path: '/v1/legal',
    auth: 'public',
    tag: 'core',
    summary: 'Get the legal documents without acceptance (the flags are always false)',
    description: 'For screens before the sign-in. `GET /v1/users/legal` has the acceptance of the user.',
    responses: ok(data(LegalStatus)),
    example: { answer: { data: examples.legalStatus } },
  }),
  defineRoute({
    operationId: 'getUserLegal',
    method: 'get',
    path: '/v1/users/legal',
    auth: 'user',
    scope: 'read',
    reach: 'any',
    tag: 'account',
    summary: 'Get the legal documents with the acceptance of the user',
    description: 'A flag becomes false again when the operator publishes a new version of its document.',
    responses: ok(data(LegalStatus)),
    example: { answer: { data: { ...examples.legalStatus, has_agreed_with_terms: true } } },
  }),
  defineRoute({
    operationId: 'acceptLegal',
    method: 'post',
    path: '/v1/users/legal/accept',
    auth: 'user',
    scope: 'write',
    reach: 'account',
    tag: 'account',
    summary: 'Accept versions of the legal documents',
    description: 'Only the present version of a document can be accepted. A document that is absent does not change.',
    body: z
      .object({
        terms_of_service_version: z.string().max(100).meta({ description: 'Which text the user read and accepted.' }),
        privacy_policy_version: z.string().max(100).meta({ description: 'Which text the user read and accepted.' }),
      })
      .partial()
      .meta({ id: 'AcceptLegalBody', description: 'The versions that the user accepted.' }),
    responses: noContent,
    errors: ['legal_version_unknown'],
    example: {
      body: {
        both: { terms_of_service_version: '1', privacy_policy_version: '1' },
        terms: { terms_of_service_version: '1' },
      },
    },
  }),
] as const;
