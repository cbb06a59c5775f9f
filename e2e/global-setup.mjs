// Installs the release and its fixtures once per run.
import { setUpPlatform } from './dist/index.js';

export default async function setUp() {
  globalThis.uswarmRecorder = await setUpPlatform();
}
