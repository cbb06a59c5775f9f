// Before the tests on the installed chart: the release and what stands around it, once for the whole run.
import { setUpPlatform } from './dist/index.js';

export default async function setUp() {
  globalThis.uswarmRecorder = await setUpPlatform();
}
