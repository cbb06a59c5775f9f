import java.io.File
import kotlinx.serialization.json.JsonArray
import kotlinx.serialization.json.jsonArray
import kotlinx.serialization.json.jsonObject
import kotlinx.serialization.json.jsonPrimitive
import kotlinx.serialization.serializer
import org.openapitools.client.infrastructure.Serializer

/** Decodes each value with the generated class of its schema, and prints the values as that class encodes them. */
fun main(arguments: Array<String>) {
    val json = Serializer.kotlinxSerializationJson
    val cases = json.parseToJsonElement(File(arguments[0]).readText()).jsonArray.map { it.jsonObject }
    val encoded = cases.map { case ->
        val name = case.getValue("schema").jsonPrimitive.content
        val serializer = json.serializersModule.serializer(Class.forName("org.openapitools.client.models.$name"))
        json.encodeToJsonElement(serializer, json.decodeFromJsonElement(serializer, case.getValue("value")))
    }
    println(JsonArray(encoded))
}
