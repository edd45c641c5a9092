/** The emoji of the picker: a small set, so that it can be part of the page. */

export interface EmojiCategory {
  id: "smileys" | "people" | "nature" | "food" | "activities" | "travel" | "objects" | "symbols";
  emoji: readonly string[];
}

/** The reactions that a menu offers first. */
export const QUICK_REACTIONS: readonly string[] = ["👍", "❤️", "😂", "😮", "😢", "🎉"];

export const EMOJI: readonly EmojiCategory[] = [
  category(
    "smileys",
    "😀 😃 😄 😁 😆 😅 😂 🤣 🙂 🙃 😉 😊 😇 🥰 😍 😘 😗 😋 😛 😜 🤪 🤗 🤭 🤫 🤔 🤐 😐 😑 😏 😒 🙄 😬 😌 😔 😴 😷 🤒 🤢 🤯 🥳 😎 🤓 😕 😟 🙁 😮 😲 😳 🥺 😨 😰 😢 😭 😱 😤 😡 😠 🤬 😈 💀 👻 👽 🤖 😺",
  ),
  category(
    "people",
    "👋 🤚 ✋ 🖖 👌 🤌 🤏 ✌️ 🤞 🤟 🤘 🤙 👈 👉 👆 👇 ☝️ 👍 👎 ✊ 👊 👏 🙌 👐 🤝 🙏 ✍️ 💪 👂 👀 🧠 👶 🧒 👩 👨 🧑 👵 👴 🙋 🤷 🤦 🙇 💃 🕺 🚶 🏃 👪 💑",
  ),
  category(
    "nature",
    "🐶 🐱 🐭 🐹 🐰 🦊 🐻 🐼 🐨 🐯 🦁 🐮 🐷 🐸 🐵 🐔 🐧 🐦 🐤 🦆 🦅 🦉 🦇 🐺 🐴 🦄 🐝 🦋 🐌 🐞 🐢 🐍 🐙 🐠 🐬 🐳 🌵 🌲 🌳 🌴 🌱 🍀 🍁 🌷 🌹 🌻 🌸 🌍 🌙 ⭐ 🌟 ☀️ ⛅ 🌧️ ⛈️ ❄️ 🔥 💧 🌊 🌈",
  ),
  category(
    "food",
    "🍏 🍎 🍐 🍊 🍋 🍌 🍉 🍇 🍓 🫐 🍒 🍑 🥭 🍍 🥥 🥝 🍅 🥑 🥦 🥕 🌽 🥔 🍞 🥐 🧀 🥚 🍳 🥞 🍔 🍟 🍕 🌭 🥪 🌮 🌯 🥗 🍝 🍜 🍣 🍱 🍚 🍦 🍩 🍪 🎂 🍰 🍫 🍬 🍯 ☕ 🍵 🥤 🍺 🍷 🥂 🍸",
  ),
  category(
    "activities",
    "⚽ 🏀 🏈 ⚾ 🎾 🏐 🎱 🏓 🏸 🥅 ⛳ 🏹 🎣 🥊 🥋 🎽 🛹 ⛸️ 🎿 🏂 🏋️ 🤸 🚴 🏊 🧗 🏆 🥇 🥈 🥉 🎫 🎭 🎨 🎬 🎤 🎧 🎼 🎹 🥁 🎷 🎺 🎸 🎻 🎲 ♟️ 🎯 🎳 🎮 🧩",
  ),
  category(
    "travel",
    "🚗 🚕 🚌 🚎 🏎️ 🚓 🚑 🚒 🚚 🚜 🛴 🚲 🛵 🏍️ 🚂 🚆 🚇 🚊 ✈️ 🛫 🚀 🚁 ⛵ 🚤 🛳️ ⚓ 🚦 🗺️ 🗽 🗼 🏰 🎡 🏖️ 🏝️ 🌋 ⛰️ 🏕️ 🏠 🏢 🏥 🏫 ⛪ 🌉 🌃",
  ),
  category(
    "objects",
    "⌚ 📱 💻 ⌨️ 🖥️ 🖨️ 📷 🎥 📞 📺 ⏰ ⌛ 🔋 💡 🔦 🕯️ 💸 💶 💳 💎 🔧 🔨 ⚙️ 🔑 🔒 🚪 🛏️ 🛁 🧸 🎁 🎈 🎉 🎊 ✉️ 📦 📅 📈 📌 📎 ✂️ 📏 📚 📖 ✏️ 🔍 💊 🧪 🔭",
  ),
  category(
    "symbols",
    "❤️ 🧡 💛 💚 💙 💜 🖤 🤍 🤎 💔 💕 💞 💓 💗 💖 💘 💯 💢 💥 💫 💦 💤 ✅ ❌ ❓ ❗ ⚠️ ♻️ ✔️ ➕ ➖ ➡️ ⬅️ ⬆️ ⬇️ 🔄 🔔 🔕 🎵 🎶 ⏸️ ▶️ 🏁 🏳️ 🔴 🟠 🟡 🟢 🔵 🟣",
  ),
];

function category(id: EmojiCategory["id"], emoji: string): EmojiCategory {
  return { id, emoji: emoji.split(" ") };
}
