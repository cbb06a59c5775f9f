import { notify, notifyError } from './notify.js';

export async function copy(text: string): Promise<void> {
  await navigator.clipboard
    .writeText(text)
    .then(() => notify({ title: 'Copied' }), notifyError('It could not be copied'));
}
