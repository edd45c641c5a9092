// Shows /openapi.json. Text goes in as text: nothing of the document is ever taken for HTML.
"use strict";

const METHODS = ["get", "post", "put", "patch", "delete"];

// An element: el("a", { href: "#x" }, "text", child, …)
function el(tag, attributes = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  node.append(...children.flat().filter((child) => child !== null && child !== undefined));
  return node;
}

// The little Markdown that descriptions use: paragraphs, `code` and [links](/path).
function prose(text) {
  return (text || "").split(/\n\s*\n/).filter(Boolean).map((paragraph) => {
    const parts = paragraph.split(/(`[^`]+`|\[[^\]]+\]\([^)]+\))/).map((part) => {
      if (part.startsWith("`")) return el("code", {}, part.slice(1, -1));
      const link = part.match(/^\[([^\]]+)\]\((\/[^)]*)\)$/);
      return link ? el("a", { href: link[2] }, link[1]) : part.replace(/\s*\n\s*/g, " ");
    });
    return el("p", {}, ...parts);
  });
}

function nameOf(reference) {
  return reference.split("/").pop();
}

// What a schema is called in a table: a link to a named one, or a short description of its type.
function typeOf(schema) {
  if (!schema || schema === true) return ["anything"];
  if (schema.$ref) return [el("a", { href: `#schema-${nameOf(schema.$ref)}` }, nameOf(schema.$ref))];
  const choices = schema.oneOf || schema.anyOf || schema.allOf;
  if (choices) return join(choices.map(typeOf), schema.allOf ? " and " : " or ");
  if (schema.const !== undefined) return [el("code", {}, JSON.stringify(schema.const))];
  if (schema.enum) return join(schema.enum.map((value) => [el("code", {}, JSON.stringify(value))]), " or ");
  if (Array.isArray(schema.type)) {
    return join(schema.type.map((type) => typeOf({ ...schema, type })), " or ");
  }
  if (schema.type === "array") return ["list of ", ...typeOf(schema.items)];
  const format = schema.format && schema.type !== "integer" ? ` (${schema.format})` : "";
  return [(schema.type || "object") + format];
}

function join(lists, separator) {
  return lists.flatMap((list, index) => (index ? [separator, ...list] : list));
}

function table(kind, titles, rows) {
  const head = el("tr", {}, ...titles.map((title) => el("th", {}, title)));
  return el("table", { class: kind }, el("thead", {}, head), el("tbody", {}, ...rows));
}

function row(...cells) {
  return el("tr", {}, ...cells.map((cell) => el("td", {}, ...[cell].flat())));
}

function fieldRows(schema) {
  const needed = new Set(schema.required || []);
  return Object.entries(schema.properties || {}).map(([name, field]) =>
    row(
      [el("code", {}, name), needed.has(name) ? el("span", { class: "needed", title: "always there" }, " *") : ""],
      typeOf(field),
      prose(field.description),
    ),
  );
}

// The fields of a schema, also of those that are put together of several.
function schemaBody(schema) {
  const parts = [];
  if (schema.properties) parts.push(table("fields", ["Field", "Type", ""], fieldRows(schema)));
  for (const part of schema.allOf || []) {
    parts.push(part.$ref ? el("p", {}, "All of ", ...typeOf(part), ", and:") : el("div", {}, ...schemaBody(part)));
  }
  for (const choice of schema.oneOf || schema.anyOf || []) {
    parts.push(el("h4", {}, "One of"), ...prose(choice.description), ...(choice.properties || choice.allOf ? schemaBody(choice) : [el("p", {}, ...typeOf(choice))]));
  }
  if (!parts.length) parts.push(el("p", {}, ...typeOf(schema)));
  return parts;
}

function exampleOf(schema, api, depth = 0) {
  if (!schema || depth > 6) return null;
  if (schema.example !== undefined) return schema.example;
  if (schema.examples) return schema.examples[0];
  if (schema.$ref) return exampleOf(api.components.schemas[nameOf(schema.$ref)], api, depth + 1);
  if (schema.enum) return schema.enum[0];
  const choices = schema.oneOf || schema.anyOf;
  if (choices) return exampleOf(choices.find((choice) => choice.type !== "null"), api, depth + 1);
  if (schema.allOf) return Object.assign({}, ...schema.allOf.map((part) => exampleOf(part, api, depth + 1)));
  const type = [schema.type].flat().find((name) => name !== "null");
  if (type === "array") return [exampleOf(schema.items, api, depth + 1)];
  if (type === "integer" || type === "number") return schema.minimum || 0;
  if (type === "boolean") return true;
  if (type === "string") return "…";
  const needed = schema.required || Object.keys(schema.properties || {});
  return Object.fromEntries(needed.map((name) => [name, exampleOf(schema.properties[name], api, depth + 1)]));
}

function quoted(text) {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}

function curl(path, method, operation, open, api) {
  const filled = path.replace(/\{(\w+)\}/g, (_, name) => `$${name.toUpperCase()}`);
  const query = (operation.parameters || []).filter((p) => p.in === "query" && p.required);
  const values = query.map((p) => `${p.name}=${encodeURIComponent(p.example ?? exampleOf(p.schema, api) ?? "")}`);
  const address = `"${location.origin}${filled}${values.length ? `?${values.join("&")}` : ""}"`;
  const lines = [`curl ${method === "get" ? "" : `-X ${method.toUpperCase()} `}${address}`];
  if (!open) lines.push(`-H "Authorization: Bearer $TOKEN"`);
  const body = operation.requestBody?.content?.["application/json"];
  if (body) {
    lines.push("-H 'Content-Type: application/json'");
    lines.push(`-d ${quoted(JSON.stringify(body.example ?? exampleOf(body.schema, api)))}`);
  }
  return lines.join(" \\\n  ");
}

function snippet(text) {
  const button = el("button", { type: "button" }, "Copy");
  button.addEventListener("click", async () => {
    await navigator.clipboard?.writeText(text);
    button.textContent = "Copied";
  });
  return el("pre", {}, button, el("code", {}, text));
}

function responseRow(status, response) {
  const content = Object.values(response.content || {})[0];
  return row(el("code", {}, status), prose(response.description), content ? typeOf(content.schema) : "");
}

function operationCard(path, method, operation, api) {
  const open = (operation.security || api.security || []).some((way) => Object.keys(way).length === 0);
  const card = el("article", { id: operation.operationId },
    el("header", {},
      el("span", { class: `method ${method}` }, method.toUpperCase()),
      el("h3", {}, operation.summary),
      el("span", { class: "path" }, path),
      el("span", { class: "lock" }, open ? "no token needed" : "bearer token")),
    ...prose(operation.description));
  const parameters = operation.parameters || [];
  if (parameters.length) {
    card.append(el("h4", {}, "Parameters"), table("fields", ["Name", "Type", ""], parameters.map((p) =>
      row([el("code", {}, p.name), p.required ? el("span", { class: "needed" }, " *") : "", el("span", { class: "dim" }, ` ${p.in}`)],
        typeOf(p.schema), prose(p.description)))));
  }
  const body = operation.requestBody?.content?.["application/json"];
  if (body) card.append(el("h4", {}, "Body"), el("p", {}, ...typeOf(body.schema)));
  const answers = Object.entries(operation.responses);
  const rows = (test) => answers.filter(([status]) => test(status)).map(([status, response]) => responseRow(status, response));
  card.append(el("h4", {}, "Answer"), table("fields", ["Status", "", "Body"], rows((status) => status < "400")));
  card.append(el("details", {}, el("summary", {}, "Errors"), table("fields", ["Status", "Code", "Body"], rows((status) => status >= "400"))));
  card.append(el("details", {}, el("summary", {}, "Try it with curl"), snippet(curl(path, method, operation, open, api))));
  return card;
}

function operationsOf(api, tag) {
  return Object.entries(api.paths).flatMap(([path, item]) =>
    METHODS.filter((method) => item[method]?.tags?.includes(tag)).map((method) => [path, method, item[method]]));
}

function show(api) {
  const content = document.getElementById("content");
  const index = document.getElementById("index");
  content.append(el("h1", {}, `${api.info.title} API`), el("p", { class: "dim" }, `Version ${api.info.version} · `, el("a", { href: "/openapi.json" }, "openapi.json"), " · ", el("a", { href: "/docs/errors" }, "error codes")), ...prose(api.info.description));
  for (const tag of api.tags) {
    const group = el("div", {}, el("h4", {}, tag.name));
    content.append(el("h2", { id: tag.name }, tag.name), el("p", { class: "dim" }, tag.description));
    for (const [path, method, operation] of operationsOf(api, tag.name)) {
      content.append(operationCard(path, method, operation, api));
      group.append(el("a", { class: "entry", href: `#${operation.operationId}`, "data-words": `${operation.summary} ${path} ${method}`.toLowerCase() }, operation.summary));
    }
    index.append(group);
  }
  const group = el("div", {}, el("h4", {}, "Schemas"));
  content.append(el("h2", { id: "schemas" }, "Schemas"), el("p", { class: "dim" }, "Fields marked * are always there."));
  for (const [name, schema] of Object.entries(api.components.schemas).sort()) {
    content.append(el("article", { id: `schema-${name}` }, el("header", {}, el("h3", {}, name)), ...prose(schema.description), ...schemaBody(schema)));
    group.append(el("a", { class: "entry", href: `#schema-${name}`, "data-words": name.toLowerCase() }, name));
  }
  index.append(group);
}

function filter(text) {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  for (const group of document.querySelectorAll("#index > div")) {
    const entries = [...group.querySelectorAll(".entry")];
    for (const entry of entries) entry.hidden = !words.every((word) => entry.dataset.words.includes(word));
    group.hidden = entries.every((entry) => entry.hidden);
  }
}

async function main() {
  const content = document.getElementById("content");
  try {
    show(await (await fetch("/openapi.json")).json());
    document.getElementById("filter").addEventListener("input", (event) => filter(event.target.value));
    // The target did not exist when the page was loaded.
    if (location.hash) document.getElementById(decodeURIComponent(location.hash.slice(1)))?.scrollIntoView();
  } catch (error) {
    content.append(el("p", {}, `/openapi.json could not be shown: ${error}`));
  }
}

main();
