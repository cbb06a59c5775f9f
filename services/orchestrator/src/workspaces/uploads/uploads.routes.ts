import type { FormLimits } from '../../platform/http/form.js';
import type { Handler, Handlers } from '../../platform/http/handlers.js';
import { conditionsOf, savedFile } from './download.js';
import { servedType } from './file-kind.js';
import type { UploadService } from './uploads.service.js';

// REST-005
export function uploadHandlers(service: UploadService, limits: FormLimits) {
  const createUpload: Handler<'createUpload'> = async ({ actor, form, headers }) => {
    const owner = { userId: actor.userId, key: headers['idempotency-key'] };
    const attachment = await form.receiveFile(limits, (file) => service.receive(owner, file));
    return { status: 201, body: { data: attachment } };
  };

  const getUpload: Handler<'getUpload'> = async ({ params: { id }, query, headers, method }) => {
    const download = await service.download({ id, signature: query.sig, method, ...conditionsOf(headers) });
    return savedFile(download, download.upload.name, servedType(download.upload.mime_type));
  };

  return { createUpload, getUpload } satisfies Partial<Handlers>;
}
