import { LIMITS } from '@uswarm/contract';
import express, { type Request, type Response, Router } from 'express';
import type { ReceiveTrigger } from '../chat/triggers/receive-trigger.js';
import { TRIGGER_PATH } from '../chat/triggers/url-secret.js';

// Signatures cover the bytes, so they are not parsed, whatever their type is.
const parse = express.raw({ limit: LIMITS.triggerBodyBytes, type: () => true });

function readBody(request: Request, response: Response): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    parse(request, response, (error?: unknown) => {
      if (error !== undefined) reject(error);
      else resolve(Buffer.isBuffer(request.body) ? request.body : Buffer.alloc(0));
    });
  });
}

/** Other systems start runs here. The URL is the credential, so it is not logged. */
export function createHooksDoor(receive: ReceiveTrigger): Router {
  return Router().post(`${TRIGGER_PATH}/:secret`, async (request, response) => {
    response.locals['route'] = { operationId: 'receiveTrigger' };
    const runId = await receive({
      secret: String(request.params['secret']),
      headers: request.headers,
      readBody({ userId }) {
        response.locals['userId'] = userId;
        return readBody(request, response);
      },
    });
    response.status(202).json({ run_id: runId });
  });
}
