// Generates src/generated/api.ts from the API documents of the server.
//
// docs/openapi.json has the routes, docs/asyncapi.json the frames of the socket. Both use the same names for the same
// schemas, so this script merges them into one document. It adds two schemas, `Commands` and `Events`, that map the name
// of each frame to its body. The rest of this package takes its types from the result.

import { mkdir, readFile, writeFile } from "node:fs/promises";
import { isDeepStrictEqual } from "node:util";

import openapiTS, { astToString } from "openapi-typescript";

const docs = new URL("../../../docs/", import.meta.url);
const target = new URL("../src/generated/", import.meta.url);

const openapi = await readJson("openapi.json");
const asyncapi = await readJson("asyncapi.json");

const document = {
    ...openapi,
    components: {
        ...openapi.components,
        schemas: {
            ...merged(openapi.components.schemas, asyncapi.components.schemas),
            Commands: objectOf(commands(asyncapi.components.messages)),
            Events: objectOf(events(asyncapi.components.messages)),
        },
    },
};

const header = "// Made by scripts/generate.mjs from docs/openapi.json and docs/asyncapi.json.\n\n";
await mkdir(target, { recursive: true });
await writeFile(new URL("api.ts", target), header + astToString(await openapiTS(document)));

async function readJson(name) {
    return plain(JSON.parse(await readFile(new URL(name, docs), "utf8")));
}

/** The schemas of both documents. A schema that is in both must be the same. */
function merged(one, other) {
    for (const [name, schema] of Object.entries(other)) {
        if (name in one && !isDeepStrictEqual(one[name], schema)) {
            throw new Error(`docs/openapi.json and docs/asyncapi.json disagree about ${name}`);
        }
    }
    return { ...one, ...other };
}

/**
 * Removes constraints on the combination of fields, such as fields that must appear together. The server checks them, and
 * as types they would force every caller to prove them to the compiler.
 */
function plain(value) {
    if (Array.isArray(value)) {
        return value.map(plain);
    }
    if (value === null || typeof value !== "object") {
        return value;
    }
    const { oneOf, allOf, ...rest } = value;
    const parts = allOf?.filter((part) => part.$ref || part.type || part.allOf || part.oneOf);
    if (parts?.length === 1 && parts.length < allOf.length) {
        return plain({ ...rest, ...parts[0] });
    }
    const kept = { ...rest, ...(allOf && { allOf: parts }), ...(oneOf && !rest.properties && { oneOf }) };
    return Object.fromEntries(Object.entries(kept).map(([name, inner]) => [name, plain(inner)]));
}

/** The schema `Commands`: for example, `send` has the body of a `send` frame and the value of `ok` in its reply. */
function commands(messages) {
    const suffix = "_command";
    const names = Object.keys(messages).filter((key) => key.endsWith(suffix));
    const pairs = names.map((key) => {
        const name = key.slice(0, -suffix.length);
        const body = property(messages, key, name);
        const reply = property(messages, `${name}_reply`, "ok");
        return [name, objectOf({ body, reply })];
    });
    return Object.fromEntries(pairs);
}

/** The schema `Events`: for example, `entry` has the body of an `entry` frame. */
function events(messages) {
    const suffix = "_event";
    const names = Object.keys(messages).filter((key) => key.endsWith(suffix));
    const pairs = names.map((key) => {
        const name = key.slice(0, -suffix.length);
        return [name, property(messages, key, name)];
    });
    return Object.fromEntries(pairs);
}

function property(messages, key, name) {
    const schema = messages[key]?.payload?.properties?.[name];
    if (!schema) {
        throw new Error(`docs/asyncapi.json: the message ${key} has no ${name}`);
    }
    return schema;
}

function objectOf(properties) {
    return { type: "object", properties, required: Object.keys(properties), additionalProperties: false };
}
