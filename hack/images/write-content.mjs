import { join, resolve } from 'node:path';
import { writeCompileCache } from './compile-cache.mjs';
import { writeContext } from './content.mjs';
import { chosenServices, serviceFiles } from './service-images.mjs';

// Writes the content of /app in a service image to `<folder>/app`, for tests and benchmarks without a container: `node
// hack/images/write-content.mjs SERVICE FOLDER [compile-cache]`. The cache is for the current user.
const [name, folder, extra] = process.argv.slice(2);
const [service] = chosenServices([name]);
const { entries } = await serviceFiles(service);
writeContext(entries, resolve(folder));
if (extra === 'compile-cache') {
  await writeCompileCache({ ...service, folder: join(resolve(folder), 'app'), user: process.getuid() });
}
