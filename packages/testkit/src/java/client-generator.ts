import { delimiter, join } from 'node:path';
import { runJava } from './java.js';
import { type MavenJar, mavenJars } from './maven-jars.js';

const KOTLIN = '2.4.21';
const SERIALIZATION = '1.11.0';

const jar = (coordinates: string, sha256: string): MavenJar => ({ coordinates, sha256 });

const STDLIB = jar(
  `org.jetbrains.kotlin:kotlin-stdlib:${KOTLIN}`,
  'bd8250210584cb659847dce9cda660f8e9906e5def7fbebcea93dc6dcb6a88a3',
);

const ANNOTATIONS = jar(
  'org.jetbrains:annotations:13.0',
  'ace2a10dc8e2d5fd34925ecac03e4988b2c0f851650c94b8cef49ba1bd111478',
);

const GENERATOR = jar(
  'org.openapitools:openapi-generator-cli:7.25.0',
  '41ce4f6b07f196676439d710759fa1ced7a08066d06ff1bf314681470289efae',
);

const SERIALIZATION_PLUGIN = jar(
  `org.jetbrains.kotlin:kotlin-serialization-compiler-plugin-embeddable:${KOTLIN}`,
  '63b381018a7d45221795d18301150fb80a1d00f30aae7be0550ab86f9ddd0ce8',
);

const COMPILER = [
  jar(
    `org.jetbrains.kotlin:kotlin-compiler-embeddable:${KOTLIN}`,
    'ef19419c765e7ac8404465fa026ca8fc4dbb8a822de0fc79aa53c8dce29f1d02',
  ),
  jar(
    `org.jetbrains.kotlin:kotlin-script-runtime:${KOTLIN}`,
    'a658cf5902a1525a06c264a5e42b437e97a6679ddeef8ca641246f270cf6a013',
  ),
  jar(
    `org.jetbrains.kotlin:kotlin-daemon-embeddable:${KOTLIN}`,
    '7b3ef24674e5bcffcadfc4e43202ea314194939ecbcdd90a4770b2f1b04e0d07',
  ),
  jar('org.jetbrains.kotlin:kotlin-reflect:1.6.10', '3277ac102ae17aad10a55abec75ff5696c8d109790396434b496e75087854203'),
  jar(
    'org.jetbrains.kotlinx:kotlinx-coroutines-core-jvm:1.8.0',
    '9860906a1937490bf5f3b06d2f0e10ef451e65b95b269f22daf68a3d1f5065c5',
  ),
  STDLIB,
  ANNOTATIONS,
];

/** Dependencies of the generated Kotlin client. */
const LIBRARIES = [
  jar(
    `org.jetbrains.kotlinx:kotlinx-serialization-core-jvm:${SERIALIZATION}`,
    'f4a801c647d4351327cd9e1ac4113e2be9ea37a64ab0abae269c25a52e28f35d',
  ),
  jar(
    `org.jetbrains.kotlinx:kotlinx-serialization-json-jvm:${SERIALIZATION}`,
    '563a25b4eb5c9128ae9c2479f3d1a5c44dcd176112b91cf03682e906eba5c935',
  ),
  jar('com.squareup.okhttp3:okhttp-jvm:5.4.0', 'b15e605ca0a4b12c62ea7f657dad413c236c947e875854767349cdbe20df473c'),
  jar('com.squareup.okio:okio-jvm:3.17.0', '3b13dcc3e1573047c2d507fc4f7fcb0bb0cbcd9d395da21d20e09406e2cd6a73'),
  STDLIB,
  ANNOTATIONS,
];

/** Programs that generate and compile clients. */
export const CLIENT_TOOLS: readonly MavenJar[] = [GENERATOR, SERIALIZATION_PLUGIN, ...COMPILER, ...LIBRARIES];

const classPath = async (jars: readonly MavenJar[]): Promise<string> => (await mavenJars(jars)).join(delimiter);

export interface ClientSources {
  /** OpenAPI document, a file. */
  document: string;
  /** Options of openapi-generator, a file. */
  configuration: string;
  /** Where the sources go. */
  target: string;
}

/**
 * Generates a client with openapi-generator, in the repository folder, where configurations name their templates.
 * @throws LocalError when it fails
 */
export async function generateClient({ document, configuration, target }: ClientSources): Promise<void> {
  const [generator = ''] = await mavenJars([GENERATOR]);
  const cwd = join(import.meta.dirname, '../../../..');
  await runJava(['-jar', generator, 'generate', '-i', document, '-c', configuration, '-o', target], { cwd });
}

export interface KotlinSources {
  /** Folders and files. */
  sources: readonly string[];
  /** A folder for the classes. */
  target: string;
}

/** Compiles Kotlin with kotlinx.serialization and OkHttp. @throws LocalError with what the compiler reports */
export async function compileKotlin({ sources, target }: KotlinSources): Promise<void> {
  const [plugin] = await mavenJars([SERIALIZATION_PLUGIN]);
  const options = ['-no-stdlib', '-no-reflect', '-nowarn', '-classpath', await classPath(LIBRARIES)];
  const compiler = 'org.jetbrains.kotlin.cli.jvm.K2JVMCompiler';
  const output = [`-Xplugin=${plugin}`, '-d', target];
  await runJava(['-cp', await classPath(COMPILER), compiler, ...options, ...output, ...sources]);
}

/** The arguments of `java` for a compiled program. */
export async function kotlinProgram(classes: string, mainClass: string): Promise<string[]> {
  return ['-cp', [classes, await classPath(LIBRARIES)].join(delimiter), mainClass];
}

/** Runs a compiled program and returns what it prints. @throws LocalError when it fails */
export async function runKotlin(classes: string, mainClass: string, args: readonly string[]): Promise<string> {
  return runJava([...(await kotlinProgram(classes, mainClass)), ...args]);
}
